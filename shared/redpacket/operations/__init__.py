"""Operations: switches, rate limits, allowances, audit log, risk."""
