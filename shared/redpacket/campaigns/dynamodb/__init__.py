"""DynamoDB repositories of campaigns."""
