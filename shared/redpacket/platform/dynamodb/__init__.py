"""DynamoDB client, pages of lists, and compression of long attributes."""
