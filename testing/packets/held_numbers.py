"""Share numbers that the cache gave to users, read without side effects."""

from collections.abc import Iterable
from typing import Any

from redpacket.packets.model.packet import (
    is_sharded,
    shard_count,
    shard_id,
    shard_of_user,
    share_no_of,
)
from redpacket.packets.ports import ClaimCache
from redpacket.packets.redis import keys
from redpacket.packets.redis.shards import STATE, RedisShards


def held_numbers(
    claim_cache: ClaimCache, packet_id: str, user_ids: Iterable[str]
) -> dict[str, int]:
    """Return users' share numbers, from their home shards if possible, otherwise from any shard."""
    cache = getattr(claim_cache, "_shards", claim_cache)
    if not is_sharded(packet_id):
        return {user: no for user, no in _users(cache, packet_id).items() if user in user_ids}
    held: dict[str, int] = {}
    for user_id in user_ids:
        home = shard_of_user(packet_id, user_id)
        for shard in (home, *range(shard_count(packet_id))):
            number = _users(cache, shard_id(packet_id, shard)).get(user_id)
            if number and user_id not in held:
                held[user_id] = share_no_of(packet_id, shard, number) if number > 0 else -number
    return held


def _users(cache: Any, cache_id: str) -> dict[str, int]:
    if isinstance(cache, RedisShards):
        fields = cache.ask("HGETALL", keys.claim_cache(cache_id))
        pairs = zip(fields[::2], fields[1::2], strict=True)
        return {user: int(number) for user, number in pairs if user != STATE}
    return cache.holders(cache_id)
