"""AWS services other than DynamoDB, and a light client for all of them."""
