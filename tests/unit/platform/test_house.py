"""Structure of the package, beyond the import contracts."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import redpacket

PACKAGE = Path(redpacket.__file__).parent

FORMER_NAMES = set(
    re.findall(
        r"\w+",
        """
Asked Attempt Callbacks Channel DrawAsk Edge Fate FourEyes LogBook Notice Outside OutsideAccount
Packets PaymentBook PaymentsIn PaymentsOut People Person Runs ShareFate Taker Try Verdict Wiring
WithdrawalBook adopt announce_balances asked asking begin_draw begun book bring correct_cache door
edge fate fates find_seen find_table flows found give_back go_on is_cut judge_answer judged
keep_place log_book look_at_transfer modes note_people one outgoing packed_text parts payment_book
people put_aside recall refuse_draw remember said scanned shown_items skeletons started_table
table_of take_callback tell waiting webhook_book wiring withdrawal_book
""",
    )
)
"""Names that had two meanings or none; the glossary has the current ones."""


@cache
def _trees() -> dict[Path, ast.Module]:
    """Parse the package once, and only when a test runs."""
    return {path: ast.parse(path.read_text()) for path in PACKAGE.rglob("*.py")}


@cache
def _classes() -> dict[str, ast.ClassDef]:
    return {
        node.name: node
        for tree in _trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }


def _names(tree: ast.AST) -> Iterator[str]:
    """Yield the identifiers that a module defines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _bases(node: ast.ClassDef) -> list[str]:
    return [ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases]


def _methods(node: ast.ClassDef) -> set[str]:
    """Return the names of a class's methods, inherited ones included."""
    own = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
    bases = [_classes()[base] for base in _bases(node) if base in _classes()]
    return own.union(*map(_methods, bases))


def _is_protocol(node: ast.ClassDef) -> bool:
    return "Protocol" in _bases(node)


def test_a_protocol_has_at_most_twelve_methods() -> None:
    counts = {name: len(_methods(node)) for name, node in _classes().items() if _is_protocol(node)}

    assert counts
    assert {name: count for name, count in counts.items() if count > 12} == {}


def test_no_further_function_has_more_than_seven_parameters() -> None:
    wide = {
        node.name
        for tree in _trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and len({each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)} - {"self"})
        > 7
    }

    assert wide == {"route", "attempt_lanes"}


def test_a_container_has_at_most_25_members_and_all_are_small_together() -> None:
    containers = [path for path in _trees() if path.parent.name == "containers"]

    members = {
        node.name: len([each for each in node.body if not isinstance(each, ast.Expr)])
        for path in containers
        for node in _trees()[path].body
        if isinstance(node, ast.ClassDef)
    }

    assert {name: count for name, count in members.items() if count > 25} == {}
    assert sum(len(path.read_text().splitlines()) for path in containers) <= 1_500


def test_former_names_do_not_return() -> None:
    found_in = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path, tree in _trees().items()
        for name in [*_names(tree), path.stem]
        if name.lstrip("_") in FORMER_NAMES
    }

    assert found_in == set()


def test_outside_the_adapters_of_dynamodb_no_name_of_a_lottery_is_a_table() -> None:
    found_in = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path, tree in _trees().items()
        if "lottery" in path.parts and path.parent.name != "dynamodb"
        for name in {"table", "tables", "_table", "_tables"}.intersection(_names(tree))
    }

    assert found_in == set()
