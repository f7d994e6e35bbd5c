"""Seed keys. Every stack has its own keys; tests and benchmarks use published keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.packets.model.seed_keys import SeedKeys

if TYPE_CHECKING:
    from local.stack import Stack

PUBLISHED_SEED_KEYS = '{"1":"published-key-of-seeds-for-tests"}'
PUBLISHED_SEEDS = SeedKeys.parse(PUBLISHED_SEED_KEYS)


def seed_keys_of(stack: Stack) -> SeedKeys:
    """Return the keys that seal a stack's seeds; read them from the functions' settings."""
    functions = stack.aws("lambda")
    grab = functions.get_function_configuration(FunctionName=stack.outputs["GrabFunction"])
    return SeedKeys.parse(grab["Environment"]["Variables"]["SEED_KEYS"])
