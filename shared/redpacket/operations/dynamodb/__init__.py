"""DynamoDB repositories of operations."""
