"""Parts shared by both runs of a thousand items: calls that fail or crash, and the command that
prints the figures.
"""

import argparse
import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from redpacket.platform.errors import Unavailable
from testing.faulty import Killed


class Failing:
    """Port or client whose calls fail at random, before or after their effect. *before* and *after*
    are the probabilities of a timeout, and *dies* is that of a killed function.
    """

    def __init__(
        self,
        inner: Any,
        chance: random.Random,
        *,
        dies: float,
        before: float = 0,
        after: float = 0,
        spared: Sequence[str] = ("exceptions",),
    ) -> None:
        self._inner, self._chance, self._spared = inner, chance, spared
        self._kinds: list[tuple[float, type[BaseException], bool]] = [
            *((dies / 2, Killed, True), (dies / 2, Killed, False)),
            *((before, Unavailable, True), (after, Unavailable, False)),
        ]
        self.is_over = False
        self.failed_count = 0

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._inner, name)
        return (
            attribute
            if name in self._spared or not callable(attribute)
            else self._failing(attribute)
        )

    def _failing(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def attempt(*arguments: Any, **named: Any) -> Any:
            left = 2.0 if self.is_over else self._chance.random()
            for share, error, is_before in self._kinds:
                if left < share:
                    self.failed_count += 1
                    if not is_before:
                        call(*arguments, **named)
                    raise error("it is so told")
                left -= share
            return call(*arguments, **named)

        return attempt


def run_command(
    figures_of: Callable[[int, int], tuple[Mapping[str, int], Sequence[str]]],
    words: Sequence[str] | None = None,
) -> None:
    """Print the figures as the last line; fail if anything is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args(words)
    figures, wrong = figures_of(given.count, given.seed)
    for what in wrong:
        print(what)
    print(json.dumps(figures))
    if wrong:
        raise SystemExit(1)
