"""Red packets in group chats: commands, cards and taps on chat platforms."""
