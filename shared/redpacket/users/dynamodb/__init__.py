"""DynamoDB repositories of users."""
