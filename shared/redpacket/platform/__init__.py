"""Technical foundation without business rules: HTTP, AWS, DynamoDB, Redis, settings, telemetry."""
