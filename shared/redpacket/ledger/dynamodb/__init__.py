"""DynamoDB repositories of ledger."""
