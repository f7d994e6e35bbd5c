"""DynamoDB repositories of lottery."""
