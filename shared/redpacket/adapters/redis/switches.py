"""Copy of the switches on Redis or Valkey: one small expiring key."""

from __future__ import annotations

from redpacket.adapters.redis import keys
from redpacket.adapters.redis.connect import Cache
from redpacket.domain.switches import Switch
from redpacket.ports.guards import SwitchesSeen

_UNKNOWN = "?"


class RedisSwitches(Cache):
    """Implementation of SwitchCopy on Redis or Valkey."""

    def find(self) -> SwitchesSeen | None:
        found = self.ask("GET", keys.SWITCH_COPY)
        if found is None:
            return None
        names = str(found).split(",")
        # A later version may have written unknown switches.
        off = frozenset(switch for switch in Switch if switch in names)
        return SwitchesSeen(off, is_known=str(found) != _UNKNOWN)

    def keep(self, seen: SwitchesSeen, for_ms: int) -> None:
        value = ",".join(sorted(seen.off)) if seen.is_known else _UNKNOWN
        self.ask("SET", keys.SWITCH_COPY, value, "PX", for_ms)
