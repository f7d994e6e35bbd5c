"""Lark and Feishu."""
