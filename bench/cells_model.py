"""Model checker of money across cells: every interleaving of one packet whose users live elsewhere.

    python -m bench.cells_model

One cell is the home of the sender and the packet; the other is the home of both users. Each action
is one DynamoDB transaction of one cell, or the sending of one message, so a crash between two
actions is an interleaving in which the second never comes. Messages are delivered at any time, in
any order, any number of times, or never. Each cell takes at most one backup and is restored to it
at most once; everything else goes on while it recovers. docs/cells.md describes the protocol.

The last line is one JSON object. The command fails if money is created or lost, if a state cannot
come to rest, or if a rule can be dropped without a counterexample.
"""

import json
import sys
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

AMOUNTS_FEN = (1, 2)
TOTAL_FEN = sum(AMOUNTS_FEN)
SHARES = range(len(AMOUNTS_FEN))
STATES_MIN = 200_000
BOOKED_MAX = 2
"""Times that a credit is booked before the search stops: twice is a violation."""

RULES = {
    "entry_once": "the home books a credit only if its entry is absent",
    "outbox": "a credit is sent only from the row that settles its share",
    "share_once": "a share is claimed, settled or refunded once",
    "fence": "the home refuses credits of an epoch before the one that it accepted",
    "ack_epoch": "the packet's cell refuses acknowledgments of an older epoch",
    "replay": "after a restore of the home, its credits are sent again",
    "adopt": "after a restore of the packet's cell, it takes over what the home has booked",
    "statements": "after a restore of the home, the bank's statements are posted",
    "closed": "a restored cell is closed until it has recovered",
}

FREE, CLAIMED, SETTLED, ACKED, REFUNDED = range(5)
"""States of a share; a settled share has its row in the outbox, and an acknowledged one had it."""
WHOLE, RECOVERING, RECOVERED = range(3)
CREDIT, ACK = "credit", "ack"


class Message(NamedTuple):
    """A credit or its acknowledgment, with the epoch of the cell that sent it."""

    kind: str
    share: int
    epoch: int


class Origin(NamedTuple):
    """Cell of the packet and its sender."""

    epoch: int = 0
    is_open: bool = True
    is_sent: bool = False
    shares: tuple[int, ...] = (FREE,) * len(AMOUNTS_FEN)
    balance_fen: int = TOTAL_FEN
    home_epoch: int = 0


class Home(NamedTuple):
    """Cell of the users; *entries* counts how often each credit was booked."""

    epoch: int = 0
    is_open: bool = True
    entries: tuple[int, ...] = (0,) * len(AMOUNTS_FEN)
    balance_fen: int = 0
    is_withdrawal_known: bool = False
    origin_epoch: int = 0


class State(NamedTuple):
    """Both cells, messages ever sent, backups, money at the bank, and the progress of restores."""

    origin: Origin = Origin()
    home: Home = Home()
    network: frozenset[Message] = frozenset()
    origin_backup: Origin | None = None
    home_backup: Home | None = None
    bank_fen: int = 0
    origin_restore: int = WHOLE
    home_restore: int = WHOLE


Step = tuple[str, State]


@dataclass(frozen=True, slots=True)
class Found:
    """Result of a search: *violation* with the *path* to it, or "" if every state is sound."""

    states: int
    violation: str = ""
    path: tuple[str, ...] = ()
    stuck: int = 0
    """States from which no state at rest can be reached."""


def explore(rules: frozenset[str] = frozenset(RULES), *, restores: bool = True) -> Found:
    """Search every reachable state, breadth first, until one violates the conservation of money."""
    start = State()
    came: dict[State, tuple[str, State] | None] = {start: None}
    before: dict[State, list[State]] = defaultdict(list)
    queue = deque([start])
    while queue:
        state = queue.popleft()
        if violation := _violation(state):
            return Found(len(came), violation, _path_to(state, came))
        for name, after in _steps(state, rules, restores=restores):
            before[after].append(state)
            if after not in came:
                came[after] = name, state
                queue.append(after)
    return Found(len(came), stuck=len(came) - _count_to_rest(came, before))


def _path_to(state: State, came: dict[State, tuple[str, State] | None]) -> tuple[str, ...]:
    path: list[str] = []
    while step := came[state]:
        name, state = step
        path.append(name)
    return tuple(reversed(path))


def _count_to_rest(states: Mapping[State, object], before: dict[State, list[State]]) -> int:
    """Count the states from which a state at rest can be reached."""
    rest = {FREE, ACKED, REFUNDED}
    reached = {
        state
        for state in states
        if _is_settled_down(state) and rest.issuperset(state.origin.shares)
    }
    queue = deque(reached)
    while queue:
        for state in before[queue.popleft()]:
            if state not in reached:
                reached.add(state)
                queue.append(state)
    return len(reached)


def _is_settled_down(state: State) -> bool:
    is_recovering = RECOVERING in {state.origin_restore, state.home_restore}
    return state.origin.is_open and state.home.is_open and not is_recovering


def _violation(state: State) -> str:
    origin, home = state.origin, state.home
    is_below_zero = origin.balance_fen < 0 or home.balance_fen < 0
    if is_below_zero and state.origin_restore == state.home_restore == WHOLE:
        return "a balance is below zero"  # after a restore, a debt is allowed
    if not _is_settled_down(state):
        return ""
    pairs = list(zip(AMOUNTS_FEN, origin.shares, home.entries, strict=True))
    if any(booked > 1 for *_, booked in pairs):
        return "a credit is booked twice"
    if any(booked and share not in {SETTLED, ACKED} for _, share, booked in pairs):
        return "a credit is booked that was not settled: money is created"
    if any(share == ACKED and not booked for _, share, booked in pairs):
        return "a credit is acknowledged and not booked: money is lost"
    left = sum(fen for fen, share, _ in pairs if share in {FREE, CLAIMED})
    in_flight = sum(fen for fen, share, booked in pairs if share == SETTLED and not booked)
    total = origin.balance_fen + home.balance_fen + state.bank_fen + in_flight
    total += left if origin.is_sent else 0
    return "" if total == TOTAL_FEN else f"the total is {total} fen instead of {TOTAL_FEN}"


def _steps(state: State, rules: frozenset[str], *, restores: bool) -> Iterator[Step]:
    yield from _origin_steps(state, rules)
    yield from _home_steps(state, rules)
    yield from _deliveries(state, rules)
    if restores:
        yield from _backups(state)
        yield from _recover_origin(state, rules)
        yield from _recover_home(state, rules)


def _origin_steps(state: State, rules: frozenset[str]) -> Iterator[Step]:
    origin = state.origin
    if not origin.is_open and "closed" in rules:
        return
    if not origin.is_sent and origin.balance_fen >= TOTAL_FEN:
        sent = origin._replace(is_sent=True, balance_fen=origin.balance_fen - TOTAL_FEN)
        yield "send", state._replace(origin=sent)
    for no in SHARES:
        share = origin.shares[no]
        if origin.is_sent and share == FREE:
            yield f"claim {no}", state._replace(origin=_with(origin, no, CLAIMED))
        may_refund = {FREE} if "share_once" in rules else {FREE, CLAIMED, SETTLED}
        if origin.is_sent and share in may_refund:
            balance_fen = origin.balance_fen + AMOUNTS_FEN[no]
            refunded = _with(origin, no, REFUNDED)._replace(balance_fen=balance_fen)
            yield f"refund {no}", state._replace(origin=refunded)
        if origin.is_sent and share == CLAIMED:
            yield f"settle {no}", state._replace(origin=_with(origin, no, SETTLED))
        may_tell = {SETTLED} if "outbox" in rules else {CLAIMED, SETTLED}
        if share in may_tell:
            yield from _sent(state, "tell", Message(CREDIT, no, origin.epoch))


def _home_steps(state: State, rules: frozenset[str]) -> Iterator[Step]:
    home = state.home
    if not home.is_open and "closed" in rules:
        return
    if not home.is_withdrawal_known and home.balance_fen >= 1 and not state.bank_fen:
        paid = home._replace(balance_fen=home.balance_fen - 1, is_withdrawal_known=True)
        yield "withdraw", state._replace(home=paid, bank_fen=1)
    for no in SHARES:
        if home.entries[no]:
            yield from _sent(state, "acknowledge", Message(ACK, no, home.epoch))


def _sent(state: State, name: str, message: Message) -> Iterator[Step]:
    if message not in state.network:
        after = state._replace(network=state.network | {message})
        yield f"{name} {message.share}", after


def _deliveries(state: State, rules: frozenset[str]) -> Iterator[Step]:
    origin, home = state.origin, state.home
    for kind, no, epoch in state.network:
        if kind == CREDIT:
            is_open = home.is_open or "closed" not in rules
            is_old = "fence" in rules and epoch < home.origin_epoch
            booked_max = 1 if "entry_once" in rules else BOOKED_MAX
            if is_open and not is_old and home.entries[no] < booked_max:
                entries = _put(home.entries, no, home.entries[no] + 1)
                balance_fen = home.balance_fen + AMOUNTS_FEN[no]
                booked = home._replace(entries=entries, balance_fen=balance_fen)
                yield f"book {no} of epoch {epoch}", state._replace(home=booked)
        else:
            is_open = origin.is_open or "closed" not in rules
            is_old = "ack_epoch" in rules and epoch < origin.home_epoch
            if is_open and not is_old and origin.shares[no] == SETTLED:
                acked = _with(origin, no, ACKED)
                yield f"acknowledged {no} of epoch {epoch}", state._replace(origin=acked)


def _backups(state: State) -> Iterator[Step]:
    origin, home = state.origin, state.home
    if state.origin_restore == WHOLE:
        if state.origin_backup is None:
            yield "back up origin", state._replace(origin_backup=origin)
        else:
            # Epochs are stored outside the backup.
            restored = state.origin_backup._replace(
                epoch=origin.epoch + 1, is_open=False, home_epoch=origin.home_epoch
            )
            yield "RESTORE origin", state._replace(origin=restored, origin_restore=RECOVERING)
    if state.home_restore == WHOLE:
        if state.home_backup is None:
            yield "back up home", state._replace(home_backup=home)
        else:
            back = state.home_backup._replace(
                epoch=home.epoch + 1, is_open=False, origin_epoch=home.origin_epoch
            )
            yield "RESTORE home", state._replace(home=back, home_restore=RECOVERING)


def _recover_origin(state: State, rules: frozenset[str]) -> Iterator[Step]:
    """Recover the packet's cell row by row, after the home has recovered."""
    origin, home = state.origin, state.home
    if state.origin_restore != RECOVERING or state.home_restore == RECOVERING:
        return
    if home.origin_epoch < origin.epoch:
        fenced = home._replace(origin_epoch=origin.epoch)
        yield "fence origin", state._replace(home=fenced)
        return
    steps: list[Step] = []
    if "adopt" in rules and any(home.entries) and not origin.is_sent:
        rebuilt = origin._replace(is_sent=True, balance_fen=origin.balance_fen - TOTAL_FEN)
        steps.append(("rebuild packet", state._replace(origin=rebuilt)))
    for no in SHARES:
        share, is_booked = origin.shares[no], home.entries[no]
        if "adopt" in rules and origin.is_sent and is_booked and share in {FREE, CLAIMED}:
            steps.append((f"adopt {no}", state._replace(origin=_with(origin, no, ACKED))))
        if share == ACKED and not is_booked:
            steps.append((f"unack {no}", state._replace(origin=_with(origin, no, SETTLED))))
    opened = origin._replace(is_open=True, home_epoch=home.epoch)
    done = state._replace(origin=opened, origin_restore=RECOVERED)
    yield from steps or [("open origin", done)]


def _recover_home(state: State, rules: frozenset[str]) -> Iterator[Step]:
    origin, home = state.origin, state.home
    if state.home_restore != RECOVERING:
        return
    if origin.home_epoch < home.epoch:
        fenced = origin._replace(home_epoch=home.epoch)
        yield "fence home", state._replace(origin=fenced)
        return
    steps: list[Step] = [
        (f"replay {no}", state._replace(origin=_with(origin, no, SETTLED)))
        for no in SHARES
        if "replay" in rules and origin.shares[no] == ACKED and not home.entries[no]
    ]
    if "statements" in rules and state.bank_fen and not home.is_withdrawal_known:
        posted = home._replace(is_withdrawal_known=True, balance_fen=home.balance_fen - 1)
        steps.append(("post statement", state._replace(home=posted)))
    epoch = max(home.origin_epoch, origin.epoch)
    opened = home._replace(is_open=True, origin_epoch=epoch)
    yield from steps or [("open home", state._replace(home=opened, home_restore=RECOVERED))]


def _with(origin: Origin, no: int, share: int) -> Origin:
    return origin._replace(shares=_put(origin.shares, no, share))


def _put(values: tuple[int, ...], no: int, value: int) -> tuple[int, ...]:
    return (*values[:no], value, *values[no + 1 :])


def main() -> int:
    """Check the protocol, and that each rule is needed."""
    began_s = time.monotonic()
    explored = explore()
    print(f"{explored.states:,} states: {explored.violation or 'money is conserved'}")
    for name in explored.path:
        print(f"  {name}")
    counterexamples: dict[str, str] = {}
    for rule, meaning in RULES.items():
        broken = explore(frozenset(RULES) - {rule})
        if broken.violation:
            counterexamples[rule] = " > ".join(broken.path)
        print(f"without {rule} ({meaning}): {broken.violation or 'NO COUNTEREXAMPLE'}")
        print(f"  {counterexamples.get(rule, '')}")
    result = {
        "states": explored.states,
        "violations": int(bool(explored.violation)),
        "stuck": explored.stuck,
        "rules": len(RULES),
        "counterexamples": len(counterexamples),
        "seconds": round(time.monotonic() - began_s, 1),
    }
    print(json.dumps(result))
    is_proven = not explored.violation and not explored.stuck and explored.states >= STATES_MIN
    return 0 if is_proven and len(counterexamples) == len(RULES) else 1


if __name__ == "__main__":
    sys.exit(main())
