"""DynamoDB repositories of the lottery."""
