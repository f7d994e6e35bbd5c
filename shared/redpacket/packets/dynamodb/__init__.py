"""DynamoDB repositories of packets."""
