"""Which tests are likely to catch a mutant: those that share its rarest words."""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from functools import cache

from tests.faults.mutants.mutant import ROOT, Mutant

ROOMS = ("tests/unit", "tests/contract")
LIKELY = 10

# They look at the tree and not at what the code does: test_mutants would catch every mutant.
TESTS_OF_TEXTS = ("test_docs.py", "test_fairness_page.py", "test_mutants.py", "test_openapi.py")

_NAME_WEIGHT = 3
_WORD = re.compile(r"[a-z]+")


def likely_tests(mutant: Mutant) -> list[str]:
    """Return the likeliest tests as pytest names them, the likeliest first."""
    tests, idf = _words_of_tests()
    wanted = _words(f"{mutant.name} {mutant.where} {mutant.file.stem} {mutant.old}")

    def likeness(name: str) -> float:
        has = tests[name]
        shared = sum(math.log1p(has[word]) * idf[word] for word in wanted if word in has)
        return shared / math.sqrt(1 + math.log1p(has.total()))

    return sorted(tests, key=likeness, reverse=True)[:LIKELY]


@cache
def _words_of_tests() -> tuple[dict[str, Counter[str]], dict[str, float]]:
    """Return the words of each test, and how rare each word is."""
    tests: dict[str, Counter[str]] = {}
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("test_*.py")):
            if path.name in TESTS_OF_TEXTS:
                continue
            text = path.read_text(encoding="utf-8")
            for node in ast.parse(text).body:
                if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
                    continue
                words = _words(ast.get_source_segment(text, node) or "")
                for word in _words(node.name + " " + path.stem):
                    words[word] += _NAME_WEIGHT
                tests[f"{path.relative_to(ROOT).as_posix()}::{node.name}"] = words
    found = Counter(word for words in tests.values() for word in words)
    return tests, {word: math.log(len(tests) / count) for word, count in found.items()}


def _words(text: str) -> Counter[str]:
    """Return the words of a text or of code, without the ends by which they differ."""
    apart = re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower()
    return Counter(word.removesuffix("s") for word in _WORD.findall(apart) if len(word) > 2)
