"""Payment gateways: WeChat Pay and the host's wallet."""
