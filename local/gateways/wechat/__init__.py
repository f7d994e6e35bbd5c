"""Simulator of WeChat Pay's API v3, and its setup."""
