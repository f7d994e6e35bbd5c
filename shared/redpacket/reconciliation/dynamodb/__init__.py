"""DynamoDB repositories of reconciliation."""
