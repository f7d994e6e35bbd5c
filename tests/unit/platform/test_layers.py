"""Import contracts of pyproject.toml: they also hold for type-only imports, and cover every module.

import-linter excludes imports under `if TYPE_CHECKING`. The order of the contexts and the
exceptions come from the contracts.
"""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import redpacket

PACKAGE = Path(redpacket.__file__).parent
ROOT = Path(__file__).parents[3]

CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]
BETWEEN, INSIDE = (each for each in CONTRACTS if each["type"] == "layers")
TECHNOLOGY = next(each for each in CONTRACTS if each["type"] == "forbidden")

CONTEXTS = {name.split(".")[1]: -rank for rank, name in enumerate(BETWEEN["layers"])}
LAYERS = {
    layer: -rank
    for rank, names in enumerate(INSIDE["layers"])
    for layer in re.findall(r"\w+", names)
}
ADAPTERS = {"dynamodb", "redis", "clients", "providers"}
KNOW_NO_TECHNOLOGY = {"model", "ports", "use_cases"}
CLEAN = {*KNOW_NO_TECHNOLOGY, "model.py", "ports.py"}


def _typing_imports(tree: ast.AST) -> Iterator[str]:
    """Yield the full names that a module imports for typing only."""
    for block in ast.walk(tree):
        if not isinstance(block, ast.If) or ast.unparse(block.test) != "TYPE_CHECKING":
            continue
        for node in (inner for each in block.body for inner in ast.walk(each)):
            if isinstance(node, ast.ImportFrom):
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
            elif isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)


def _matches(name: str, pattern: str) -> bool:
    """Return whether a module, or the module of an imported name, matches a wildcard pattern."""
    form = re.escape(pattern).replace(r"\*\*", r"[\w.]+").replace(r"\*", r"\w+")
    return re.fullmatch(rf"{form}(\.\w+)?", name) is not None


def _is_exempt(contract: dict[str, list[str]], importer: str, imported: str) -> bool:
    return any(
        _matches(importer, source) and _matches(imported, target)
        for source, target in (each.split(" -> ") for each in contract["ignore_imports"])
    )


def _find_violation(importer: str, imported: str) -> str | None:
    """Return the rule that an import breaks, or None."""
    (context, layer), (root, other, target) = (
        [*importer.split(".")[1:], ""][:2],
        [*imported.split("."), "", ""][:3],
    )
    if root != "redpacket":
        is_forbidden = layer in KNOW_NO_TECHNOLOGY and root in TECHNOLOGY["forbidden_modules"]
        return "knows technology" if is_forbidden else None
    if context == "containers":
        return None
    if target in ADAPTERS and layer not in ADAPTERS:
        is_own = context == other and layer == "use_cases"
        return None if is_own else "names a foreign adapter"
    if CONTEXTS.get(other, 0) > CONTEXTS.get(context, 0):
        return None if _is_exempt(BETWEEN, importer, imported) else "leads to a context above"
    is_upward = context == other and LAYERS.get(target, -9) > LAYERS.get(layer, 0)
    is_allowed = not is_upward or _is_exempt(INSIDE, importer, imported)
    return None if is_allowed else "leads to a layer above"


def _module_name(path: Path, root: Path = PACKAGE.parent) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def test_imports_for_typing_follow_the_layers() -> None:
    violations = [
        f"{importer} {violation}: {imported}"
        for path in PACKAGE.rglob("*.py")
        for importer in [_module_name(path)]
        for imported in _typing_imports(ast.parse(path.read_text()))
        if (violation := _find_violation(importer, imported))
    ]

    assert violations == []


@pytest.mark.parametrize(
    ("importer", "line", "violation"),
    [
        (
            "packets.use_cases.send_packet",
            "from redpacket.lottery.model.prize import Prize",
            "leads to a context above",
        ),
        (
            "packets.use_cases.send_packet",
            "from redpacket.ledger.dynamodb.ledger import DynamoLedger",
            "names a foreign adapter",
        ),
        (
            "payments.api.views",
            "from redpacket.payments import dynamodb",
            "names a foreign adapter",
        ),
        (
            "users.ports",
            "from redpacket.users.dynamodb.profiles import user_row",
            "names a foreign adapter",
        ),
        ("users.model", "import redpacket.users.dynamodb.profiles", "names a foreign adapter"),
        ("users.model", "from redpacket.users.ports import Profile", "leads to a layer above"),
        ("ledger.ports", "from redpacket.ledger.use_cases import x", "leads to a layer above"),
        ("users.use_cases.edit_profile", "import boto3", "knows technology"),
        ("users.use_cases.edit_profile", "from redis.client import Redis", "knows technology"),
        (
            "users.use_cases.edit_profile",
            "from redpacket.users.dynamodb.profiles import DynamoProfiles",
            None,
        ),
        ("packets.use_cases.send_packet", "from redpacket.ledger.ports import Balances", None),
    ],
)
def test_a_planted_import_for_typing_is_found(
    importer: str, line: str, violation: str | None
) -> None:
    [imported] = _typing_imports(ast.parse(f"if TYPE_CHECKING:\n    {line}"))

    assert _find_violation(f"redpacket.{importer}", imported) == violation


def test_no_use_case_port_or_model_may_import_technology(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "redpacket", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "redpacket_cli").mkdir()
    (tmp_path / "redpacket_cli/__init__.py").touch()
    planted = [
        path
        for context in (tmp_path / "redpacket").iterdir()
        if context.name in {*CONTEXTS, "verify"} - {"containers", "platform"}
        for path in context.rglob("*.py")
        if context.name == "verify" or path.relative_to(context).parts[0] in CLEAN
    ]
    for path in planted:
        path.write_text(f"{path.read_text()}\nimport boto3\n")

    done = subprocess.run(
        [
            Path(sys.executable).with_name("lint-imports"),
            "--no-cache",
            "--config",
            ROOT / "pyproject.toml",
        ],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    named = set(re.findall(r"(redpacket[\w.]+) -> boto3", done.stdout))
    assert {_module_name(path, tmp_path) for path in planted} - named == set()
    assert {name.split(".")[1] for name in named} >= {*CONTEXTS} - {"containers", "platform"}
    assert done.returncode == 1
