"""WeChat Pay."""
