"""What keeps load away: switches, rate limits, a cache that is down."""
