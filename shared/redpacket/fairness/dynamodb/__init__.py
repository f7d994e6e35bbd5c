"""DynamoDB repositories of fairness."""
