"""Money in and money out: payments, withdrawals, and what gateways say of them."""
