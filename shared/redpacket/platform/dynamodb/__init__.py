"""DynamoDB client."""
