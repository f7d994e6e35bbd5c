"""Local stack on one machine: a real cache, an AWS emulator, and development tokens."""
