"""Shared copy of the switches in Redis or Valkey: one small expiring key."""

from __future__ import annotations

from redpacket.operations.model.limits import LimitName
from redpacket.operations.model.switches import Switch
from redpacket.operations.ports import SwitchesSeen
from redpacket.operations.redis import keys
from redpacket.platform.redis.client import Client
from redpacket.platform.redis.connect import Cache, SignedTexts

_UNKNOWN = "?"


class RedisSwitches(Cache):
    """SwitchCopy implementation for Redis and Valkey."""

    def __init__(self, client: Client, texts: SignedTexts) -> None:
        super().__init__(client)
        self._texts = texts

    def find(self) -> SwitchesSeen | None:
        text = self._texts.read(keys.SWITCH_COPY, self.ask("GET", keys.SWITCH_COPY))
        if text is None:
            return None
        words = (word.partition("=") for word in text.split(","))
        values = {name: value for name, _, value in words}
        # Ignore switches and limits that a later version may have written.
        off = frozenset(switch for switch in Switch if switch in values)
        limits = {name: int(values[name]) for name in LimitName if name in values}
        return SwitchesSeen(off, text != _UNKNOWN, limits)

    def keep(self, seen: SwitchesSeen, for_ms: int) -> None:
        words = sorted([*seen.off, *(f"{name}={value}" for name, value in seen.limits.items())])
        value = ",".join(words) if seen.is_known else _UNKNOWN
        text = self._texts.write(keys.SWITCH_COPY, value, for_ms)
        self.ask("SET", keys.SWITCH_COPY, text, "PX", for_ms)
