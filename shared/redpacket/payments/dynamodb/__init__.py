"""DynamoDB repositories of payments."""
