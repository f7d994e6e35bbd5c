"""The copy of the switches on Redis or Valkey: one small key that forgets itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.adapters import keys
from redpacket.adapters.redis_scripts import translated
from redpacket.domain.switches import Switch
from redpacket.ports import SwitchesSeen

if TYPE_CHECKING:
    import redis

    from redpacket.adapters.redis_cluster import ClusterClient

_UNKNOWN = "?"


class RedisSwitches:
    """Implements SwitchCopy."""

    def __init__(self, client: redis.Redis | ClusterClient) -> None:
        self._client = client

    def find(self) -> SwitchesSeen | None:
        with translated(self._client):
            found = self._client.get(keys.SWITCH_COPY)
        if found is None:
            return None
        names = str(found).split(",")
        # A later version may know more of them.
        off = frozenset(switch for switch in Switch if switch in names)
        return SwitchesSeen(off, is_known=str(found) != _UNKNOWN)

    def keep(self, seen: SwitchesSeen, for_ms: int) -> None:
        value = ",".join(sorted(seen.off)) if seen.is_known else _UNKNOWN
        with translated(self._client):
            self._client.set(keys.SWITCH_COPY, value, px=for_ms)
