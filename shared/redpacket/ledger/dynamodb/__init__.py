"""DynamoDB repositories of the ledger."""
