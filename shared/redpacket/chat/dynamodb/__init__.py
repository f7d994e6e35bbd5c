"""DynamoDB repositories of chats."""
