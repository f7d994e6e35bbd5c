"""Operations: switches, rate limits, allowances, the audit log and risk control."""
