"""DynamoDB repositories of erasure."""
