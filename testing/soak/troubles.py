"""Faults of a soak: kills, freezes, failing providers, new keys, other releases, lost rows."""

import json
import os
import random
import secrets
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from local import places
from local.deploy import STACK_NAME
from local.errors import StackError
from local.packet_ids import PUBLISHED_KEYS
from local.stack import Stack
from testing.soak.crowd import PROVIDERS, Crowd, Person, expect, rename
from testing.soak.mirror import WEBHOOK, Mirror
from testing.soak.watch import Watch, client

FROZEN = ("cache", "gateway", "wallet", "receiver")
FROZEN_S = (3.0, 8.0)
SWITCHED_S = 11.0
"""Seconds until a changed switch takes effect in every function."""
LOST_ROWS = 40
MOVES_MONEY = ("send", "grab", "draw", "pay", "withdraw", "payout", "refund")
WITHDRAWN = "confirm", "withdrawal_id"
FAILING = {"times_out": 0.2, "fails": 0.2, "pays_and_fails": 0.2, "slow": 0.2}


class Troubles:
    """Faults of one stack, and the operators' reactions to them."""

    def __init__(self, stack: Stack, crowd: Crowd, watch: Watch, mirror: Mirror) -> None:
        self.stack, self.crowd, self.watch, self.mirror = stack, crowd, watch, mirror
        self._packet_id_keys = PUBLISHED_KEYS
        self._version = 0
        self._left: list[Callable[[random.Random], None]] = []
        self.lost: dict[str, int] = {}
        """Number of rows deleted before the restore, keyed by table."""

    # ---------------------------------------------------------------- processes

    def disturb(self, chance: random.Random) -> None:
        """Inject the next fault; each kind occurs once before any occurs again."""
        if not self._left:
            self._left = [
                self.kill_cache,
                self.kill_functions,
                self.fail_outside,
                self.fail_receiver,
            ]
            self._left += [partial(self.freeze, name) for name in FROZEN]
            chance.shuffle(self._left)
        self._left.pop()(chance)
        if ended := self.stack.ended():
            raise StackError(f"{ended.name} ended: read {ended.log}")

    def kill_cache(self, _: random.Random) -> None:
        """Kill the cache, which restarts without data."""
        with self.watch.fault("cache killed"):
            killed = self._pid("cache")
            os.kill(killed, signal.SIGKILL)
            self._until(lambda: self.stack.ended() is None and self._pid("cache") != killed)

    def _answers(self) -> bool:
        return self.crowd.operator.ask("GET", "/me").is_success

    def kill_functions(self, chance: random.Random) -> None:
        """Kill some function processes, which may be in the middle of their work."""
        with self.watch.fault("functions killed"):
            workers = _children(self._pid("emulator"))
            for pid in chance.sample(workers, min(len(workers), 6)):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def freeze(self, name: str, chance: random.Random) -> None:
        """Freeze a program for three to eight seconds."""
        with self.frozen(name):
            time.sleep(chance.uniform(*FROZEN_S))

    @contextmanager
    def frozen(self, name: str) -> Iterator[None]:
        """Freeze a program during the `with` block; its connections stay open."""
        with self.watch.fault(f"{name} frozen"):
            pid = self._pid(name)
            os.kill(pid, signal.SIGSTOP)
            try:
                yield
            finally:
                os.kill(pid, signal.SIGCONT)

    def fail_receiver(self, chance: random.Random) -> None:
        """Make the receiver slow, unavailable, or return 500 for stored events, for a while."""
        with self.watch.fault("receiver fails"), client(self.stack.receiver) as receiver:
            for mode in (chance.choice(("down", "slow", "lost")), "down", "ok"):
                receiver.put(f"/_fake/{WEBHOOK}", json={"mode": mode})
                time.sleep(chance.uniform(*FROZEN_S))

    def fail_outside(self, chance: random.Random) -> None:
        """Make a provider slow, time out, or return errors, sometimes after it has paid."""
        name = chance.choice(PROVIDERS)
        with self.watch.fault("gateway fails" if name == "wechat" else "wallet fails"):
            self.crowd.outside(name, "mode", {"shares": FAILING, "seed": chance.randrange(99)})
            time.sleep(chance.uniform(*FROZEN_S))
            self.crowd.outside(name, "mode", {"mode": "ok"})

    def _pid(self, name: str) -> int:
        return int(self.stack.description()["pids"][name])

    # ---------------------------------------------------------------- keys and releases

    def rotate_keys(self) -> None:
        """Add new versions to the secrets SeedKeys, PayeeKeys, WebhookKeys and PacketIdKey.

        Functions read the secrets at the next deployment; until then, sending is switched off.
        """
        self._version += 1
        for name in ("SeedKeys", "PayeeKeys", "WebhookKeys"):
            keys = json.loads(self._secret(name))
            keys[str(max(map(int, keys)) + 1)] = secrets.token_urlsafe(48)
            self._put_secret(name, json.dumps(keys))
        old = self._secret("PacketIdKey")
        self._packet_id_keys = f"{chr(ord('a') + self._version)}:{old},{self._packet_id_keys}"
        self._put_secret("PacketIdKey", secrets.token_hex(32))

    def upgrade(self, sources: Path, *, rotates: bool) -> None:
        """Deploy another release while withdrawals and payments wait for providers."""
        began_at, people = time.monotonic(), self._least_active()
        for person in people:
            self.crowd.bind(person)
        with self.watch.fault("upgrade"):
            with self.frozen("gateway"), self.frozen("wallet"):
                self._begin_waiting(people)
                if rotates:
                    self._switch(("send",), is_on=False)
                    self.rotate_keys()
                    self.watch.faults["keys rotated"] += 1
                self.stack.deploy(sources, PreviousPacketIdKeys=self._packet_id_keys)
                self.watch.is_old = sources != places.ROOT
                if rotates:
                    self._switch(("send",), is_on=True)
            self._until(self._answers)
        self.watch.noted("keys rotated", began_at)
        self.mirror.put()

    def _least_active(self) -> list[Person]:
        """Return the four users, none naive, with the fewest withdrawals and payments so far."""
        able = self.crowd.people[len(self.crowd.naive) :]
        return sorted(able, key=lambda each: len(each.withdrawals) + len(each.payments))[:4]

    def _begin_waiting(self, people: list[Person]) -> None:
        """Start withdrawals and payments that the frozen provider answers after the upgrade."""

        def begin(person: Person) -> None:
            with person.busy:
                for path, name in (("withdrawals", "withdrawal_id"), ("payments", "payment_id")):
                    body = {"amount_fen": 100, "channel": "wechat"}
                    body |= {"method": "native"} if path == "payments" else {}
                    answer = person.call.ask("POST", f"/me/{path}", body, uuid.uuid4().hex)
                    number = expect(answer)[name]
                    getattr(person, path)[number] = ("wechat", 100)
                    self.crowd.waiting[f"/me/{path}/{number}"] = person

        with ThreadPoolExecutor() as pool:
            list(pool.map(begin, people))

    def plays_waiting(self) -> bool:
        """Complete withdrawals and payments that an upgrade delayed; return whether all ended."""
        for page, person in list(self.crowd.waiting.items()):
            if expect(person.call.ask("GET", page))["status"] == "paid":
                del self.crowd.waiting[page]
                self.watch.did("seal of another release")
            else:
                control, name = ("pay", "payment_id") if "payments" in page else WITHDRAWN
                self.crowd.outside("wechat", control, {name: page.rpartition("/")[2]})
        return not self.crowd.waiting

    def _secret(self, name: str) -> str:
        manager = self.stack.aws("secretsmanager")
        return str(manager.get_secret_value(SecretId=self._resource(name))["SecretString"])

    def _put_secret(self, name: str, text: str) -> None:
        manager = self.stack.aws("secretsmanager")
        manager.put_secret_value(SecretId=self._resource(name), SecretString=text)

    def _resource(self, name: str) -> str:
        cloud = self.stack.aws("cloudformation")
        found = cloud.describe_stack_resource(StackName=STACK_NAME, LogicalResourceId=name)
        return str(found["StackResourceDetail"]["PhysicalResourceId"])

    def _switch(self, names: tuple[str, ...], *, is_on: bool) -> None:
        for name in names:
            body = {"on": is_on, "reason": "the soak"}
            expect(self.crowd.operator.ask("PUT", f"/admin/switches/{name}", body))
        time.sleep(SWITCHED_S)

    # ---------------------------------------------------------------- docs/how-to/restore.md

    def restore(self, chance: random.Random, between: Callable[[], None]) -> None:
        """Delete rows, and restore them from an earlier backup as docs/how-to/restore.md says.

        All profiles return to the state of the backup, so later names are lost. Of the ledger, only
        some rows are lost, and only rows that no longer change.
        """
        tables = ("ProfilesTable", "SharesTable", "AccountsTable")
        suffix = uuid.uuid4().hex[:6]
        with self.crowd.profiles:
            names = {person.name: person.nickname for person in self.crowd.people}
            for table in tables:
                self.stack.aws("dynamodb").restore_table_to_point_in_time(
                    SourceTableName=self.stack.outputs[table],
                    TargetTableName=f"before-{suffix}-{table}",
                    UseLatestRestorableTime=True,
                )
        between()
        for person in chance.sample(self.crowd.people, 3):
            with person.busy:
                rename(self.crowd, person, chance)
        with self.watch.fault("tables restored"), self.crowd.profiles:
            self._switch(MOVES_MONEY, is_on=False)
            self._schedules(enable=False)
            for table in tables:
                self.lost[table] = self._lose(table, f"before-{suffix}-{table}", chance)
                self._put_back(f"before-{suffix}-{table}", table)
            for person in self.crowd.people:
                if person.nickname != names[person.name]:
                    self.watch.did("name that a restore lost")
                person.nickname = names[person.name]
            if told := self.cli("reconcile")["differences"]:
                self.watch.violated(f"reconciliation after the restore: {told}")
            self._schedules(enable=True)
            self._switch(MOVES_MONEY, is_on=True)

    def _lose(self, table: str, backup: str, chance: random.Random) -> int:
        """Delete all profiles, and some settled shares and entries that the backup contains."""
        dynamodb, live = self.stack.aws("dynamodb"), self.stack.outputs[table]
        keys = [each["AttributeName"] for each in self._keys(live)]
        known = {_text(row): row for row in _scan(dynamodb, backup)}
        rows = [row for row in _scan(dynamodb, live) if table == "ProfilesTable" or _rests(row)]
        if table != "ProfilesTable":
            rows = [row for row in rows if _text(row) in known]
            rows = chance.sample(rows, min(LOST_ROWS, len(rows)))
        for row in rows:
            dynamodb.delete_item(TableName=live, Key={name: row[name] for name in keys})
        return len(rows)

    def _keys(self, table: str) -> list[dict[str, str]]:
        described = self.stack.aws("dynamodb").describe_table(TableName=table)
        schema: list[dict[str, str]] = described["Table"]["KeySchema"]
        return schema

    def _put_back(self, backup: str, table: str) -> None:
        """Run the two commands of docs/how-to/restore.md, and check that all lost rows are back."""
        missing = [row for row in self._compared(backup, table) if row["state"] == "missing"]
        back = self._compared(backup, table, "--put-back")
        count = sum(row["state"] == "put back" for row in back)
        if count != len(missing) or count < self.lost[table]:
            text = f"{count} of {self.lost[table]} lost rows of {table} are back"
            self.watch.violated(text)
        self.watch.done["row put back"] += count

    def _compared(self, backup: str, table: str, *more: str) -> list[dict[str, str]]:
        items: list[dict[str, str]] = self.cli("ledger", "restore", backup, table, *more)["items"]
        return items

    def _schedules(self, *, enable: bool) -> None:
        events = self.stack.aws("events")
        for rule in events.list_rules()["Rules"]:
            (events.enable_rule if enable else events.disable_rule)(Name=rule["Name"])

    # ---------------------------------------------------------------- helpers

    def cli(self, *words: str) -> Any:
        """Run the command `redpacket`; return its JSON output. Raises RuntimeError."""
        command = [str(places.LOCAL / "bin" / "redpacket"), "--state", str(self.stack.state_dir)]
        done = subprocess.run(
            [*command, "--json", *words], capture_output=True, text=True, check=False
        )
        try:
            return json.loads(done.stdout)
        except ValueError:
            raise RuntimeError(f"redpacket {words}: {done.stdout} {done.stderr}") from None

    def run(self, function: str, task: str) -> None:
        """Run a schedule's task now."""
        payload = json.dumps({"task": task} if task else {"source": "aws.events"}).encode()
        name = self.stack.outputs[function]
        with suppress(Exception):
            self.stack.aws("lambda").invoke(FunctionName=name, Payload=payload)

    def _until(self, is_so: Callable[[], bool], within_s: float = 120) -> bool:
        ends_at = time.monotonic() + within_s
        while not is_so():
            if time.monotonic() > ends_at:
                return False
            time.sleep(0.5)
        return True


def _rests(row: dict[str, Any]) -> bool:
    """Return whether a ledger row no longer changes: a settled share or an entry."""
    sk = row["sk"]["S"]
    return ("settled_at_ms" in row and "work_pk" not in row) or sk.startswith("entry#")


def _text(row: dict[str, Any]) -> str:
    return json.dumps(row, sort_keys=True)


def _scan(dynamodb: Any, table: str) -> Iterator[dict[str, Any]]:
    for page in dynamodb.get_paginator("scan").paginate(TableName=table):
        yield from page["Items"]


def _children(pid: int) -> list[int]:
    """Return the ids of a process's children."""
    listed = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return [int(child) for child in listed.stdout.split()]
