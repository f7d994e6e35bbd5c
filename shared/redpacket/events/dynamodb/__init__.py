"""DynamoDB repositories of events."""
