"""Tests of the runbook: they cause a page's fault, and run its commands that don't need AWS."""

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from local.places import ROOT
from local.stack import Stack
from testing.documents import PAGES, RUNBOOK, Ran, blocks_of, filled, run
from testing.platform import command_server
from tests.integration.conftest import Eventually, HttpUser, Interruption, Invoke, MakeUser
from tests.integration.runbook_faults import SCENARIOS
from tests.integration.runbook_world import Fault, World

pytestmark = [
    pytest.mark.usefixtures("only_own_sweeps", "invariants"),
    pytest.mark.skipif(not shutil.which("curl"), reason="no curl on this machine"),
]

INDEX = RUNBOOK / "README.md"


@pytest.fixture(scope="module", name="terminal")
def operators_terminal(
    stack: Stack, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield a folder that looks like a clone with `redpacket` installed, and the environment for a
    shell in this folder. The folder's `make` runs in the real clone, and ends each drill after a
    second.
    """
    folder = tmp_path_factory.mktemp("clone")
    commands = folder / ".local" / "bin"
    commands.mkdir(parents=True)
    path = f"{commands}:{os.environ['PATH']}"
    make = commands / "make"
    make.write_text(f'#!/bin/sh\nexec {shutil.which("make")} -s -C {ROOT} "$@" SECONDS=1\n')
    make.chmod(stat.S_IRWXU)
    with command_server.install(commands, str(stack.state_dir)):
        yield folder, {"PATH": path, "REDPACKET_STATE": str(stack.state_dir), "HOME": str(folder)}


@pytest.fixture
def world(
    stack: Stack,
    terminal: tuple[Path, dict[str, str]],
    cache: redis.Redis,
    frozen_cache: Interruption,
    paused_payouts: Interruption,
    a_user: MakeUser,
    operator: HttpUser,
    invoke: Invoke,
    eventually: Eventually,
) -> Iterator[World]:
    folder, _ = terminal
    people = (a_user, operator)
    made = World(stack, folder, cache, frozen_cache, paused_payouts, *people, invoke, eventually)
    yield made
    made.disable_rules()


def _environment_of(world: World) -> str:
    """Return the commands that export the AWS CLI's variables for a local stack."""
    blocks = (block for block in blocks_of(INDEX) if "AWS_ENDPOINT_URL" in block.commands)
    return filled(next(blocks).commands, world.own_aws())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_run_as_pasted_and_find_its_fault(
    page: Path, world: World, terminal: tuple[Path, dict[str, str]]
) -> None:
    blocks = [block for block in blocks_of(page) if not block.needs_aws]
    assert bool(blocks) is (page.name in SCENARIOS), f"provoke the fault of {page.name}"
    if not blocks:
        return  # the whole page needs AWS, and states this
    folder, environment = terminal
    checks = "".join(block.commands for block in blocks if not block.is_step)
    steps = "".join(block.commands for block in blocks if block.is_step)

    with SCENARIOS[page.name](world) as fault:
        ran = run(
            _environment_of(world) + filled(f"{checks}{fault.repaired}\n{steps}", fault.values),
            folder=folder,
            environment=environment,
            typed="y\n",
        )

    _judge(ran, fault)


def _judge(ran: list[Ran], fault: Fault) -> None:
    """Check that the commands printed the texts that name the fault, and that exactly the expected
    commands failed.
    """
    told = "\n".join(f"$ {each.line}\n{each.printed}{each.codes or ''}" for each in ran)
    for part, signs in fault.signs.items():
        printed = "".join(each.printed for each in ran if part in each.line)
        missing = [sign for sign in signs.split() if sign not in printed]
        assert not missing, f"{part} does not name {missing}\n{told}"
    failed = {each.line for each in ran if each.codes}
    expected = {
        each.line
        for each in ran
        for part in fault.failing.split(", ")
        if part and part in each.line
    }
    assert failed == expected, told
