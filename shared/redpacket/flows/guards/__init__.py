"""Load protection: switches, rate limits, circuit breaker, risk, approvals."""
