"""The ledger's tables in DynamoDB."""
