"""Signed texts for tests, with the seed keys of local functions."""

import time

from local.seed_keys import PUBLISHED_SEEDS
from redpacket.platform.redis.connect import SignedTexts

TEXTS = SignedTexts(
    PUBLISHED_SEEDS.sign, PUBLISHED_SEEDS.has_signed, lambda: time.time_ns() // 1_000_000
)
