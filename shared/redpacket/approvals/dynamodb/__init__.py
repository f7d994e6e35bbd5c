"""DynamoDB repositories of approvals."""
