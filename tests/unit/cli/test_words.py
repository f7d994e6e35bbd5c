"""The CLI's Chinese catalog translates every text for people, and has no unused template."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

import redpacket_cli
from redpacket_cli import words
from redpacket_cli.show import pairs, table

FOLDER = Path(redpacket_cli.__file__).parent
TELLS = {"BadParameter", "Failure", "Text", "no_target", "note", "translate"}
OWN = {"columns", "detail", "title", "until"}
# Columns of rows that are shown as the ledger stores them.
RAW = {"pk", "sk", "fate"}


def _template(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(getattr(part, "value", "")) if isinstance(part, ast.Constant) else "{}"
            for part in node.values
        )
    return None


def _shown(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield the texts that a module prints for people: arguments, columns and findings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in TELLS:
                yield from node.args
            elif name == "table":
                yield from getattr(node.args[0], "elts", [])
                yield from node.args[2:]
        elif isinstance(node, (ast.Yield, ast.Return)) and isinstance(node.value, ast.Tuple):
            yield from node.value.elts
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in OWN:
            yield from getattr(node.value, "elts", [node.value])


def _written() -> set[str]:
    """Return each text or template in the code that contains a word."""
    stored = (
        _template(node)
        for file in FOLDER.glob("*.py")
        if file.name != "words.py"
        for node in _shown(ast.parse(file.read_text(encoding="utf-8")))
    )
    return {text for text in stored if text and any(map(str.isalpha, text.replace("{}", "")))}


def test_all_texts_for_people_are_in_the_catalog() -> None:
    # Texts with an underscore, and RAW, are names of columns, which are not translated.
    missing = {text for text in _written() - words.ZH.keys() if "_" not in text} - RAW

    assert missing == set(), "add the Chinese to cli/redpacket_cli/words.py"


def test_each_template_of_the_catalog_is_printed_somewhere() -> None:
    assert {text for text in words.ZH if "{}" in text} - _written() == set()


@pytest.fixture
def chinese() -> Iterator[None]:
    words.use("zh")
    yield
    words.use("en")


@pytest.mark.usefixtures("chinese")
def test_a_reader_gets_chinese_and_texts_of_users_stay_unchanged(
    capsys: pytest.CaptureFixture[str],
) -> None:
    console = Console(width=120)

    console.print(table(("packet", "is", "sender"), [("p1", "open", "open")]))
    console.print(pairs({"share_url": "https://x", "total_fen": 8888, "status": "open"}))
    console.print(words.translate("a.yaml is not a mapping: write lines like `title: Spring`"))
    console.print(words.translate("no such text"))

    told = capsys.readouterr().out
    for text in ("红包", "状态", "可领", "open", "链接", "8888 (¥88.88)", "a.yaml 里不是键值映射"):
        assert text in told
    assert "no such text" in told
