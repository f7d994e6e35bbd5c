"""Gateways of payments: WeChat Pay and the host's own wallet, each behind the same ports."""
