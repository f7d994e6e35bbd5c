"""Mutation test: at least 95% of a random sample of changes to money code must make a test fail.

TREE is a clone in which pytest-testmon recorded which lines each test runs. cosmic-ray makes each
change in a copy of TREE, where testmon runs the tests that the change may break. The last line of
the output is JSON.
"""

import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from attrs import evolve
from cosmic_ray import plugins
from cosmic_ray.commands.init import init
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.operators.operator import Operator
from cosmic_ray.work_db import use_db
from parso.python.tree import Name

SETTINGS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
PACKAGE, TEMPLATE = Path("shared/redpacket"), Path("template.yaml")
SURVIVING_MAX, TIMEOUT_S, MEMORY_MAX_KB = 0.05, 600, 4 << 20
COMMAND = f'sh -c \'cd "$0"; ulimit -v {MEMORY_MAX_KB}; exec {sys.executable} -m pytest "$@"\''
_CONDITION = re.compile(r"attribute_(not_)?exists\(|[#\w]+ (=|<>|<=|>=|<|>) :\w+|\{[A-Z_]+\} AND ")
_NO_CONDITION = re.compile(r" ?(SET|ADD|REMOVE|,) |(pk|list_pk|work_pk) = |\"")
_ALWAYS = "attribute_exists(pk) OR attribute_not_exists(pk)"
_LISTS = re.compile(r"(?:Action|dynamodb:Attributes): \[(.*?)\]")
_RESOURCE = re.compile(r'Resource: (?!"\*"|arn:\${Partition}:states:)(.+?)(?: \}\]?)?\n')
_LIMIT = re.compile(r"^(( +)Condition:\n(?:\2 .*\n)+)", re.MULTILINE)
_SKIPPED = re.compile(r".*(logger|metrics)\.|.*\b(strict|ensure_ascii)=\0| *assert |.*\0\*\*?[,\w]")


class TextOperator(Operator):  # type: ignore[misc] # cosmic-ray has no types
    """Mutation operator. Its `changes` function yields the start, end and new text of each change
    to a node.
    """

    examples = ()  # tests/unit/testing/test_mutants.py has examples.

    def mutation_positions(self, node: Any) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        text = node.get_code(include_prefix=False)
        for start, _, _ in self.changes(text, node.type):
            line = node.start_pos[0] + text.count("\n", 0, start)
            yield (line, start), (line, start + 1)

    def mutate(self, node: Any, index: int) -> Name:
        text = node.get_code(include_prefix=False)
        start, end, new = list(self.changes(text, node.type))[index]
        return Name(text[:start] + new + text[end:], node.start_pos, node.get_first_leaf().prefix)


def drop_term(text: str, kind: str) -> Iterator[tuple[int, int, str]]:
    """Drop a term of a DynamoDB condition."""
    match = re.fullmatch(r'f?"(.*)"', text) if "string" in kind else None
    if match and _CONDITION.search(match[1]) and not _NO_CONDITION.match(match[1]):
        steps = re.split(r"( AND | OR )", match[1])
        for at in range(0, len(steps), 2):
            if steps[at]:  # Skip the empty end of a continued string.
                left = steps[: max(0, at - 1)] + steps[at + (1 if at else 2) :]
                yield *match.span(1), "".join(left) or _ALWAYS


def drop_right(text: str, kind: str) -> Iterator[tuple[int, int, str]]:
    """Drop an action, an attribute or a condition from an IAM statement, or allow all resources."""
    if kind == "file_input" and "\nResources:\n" in text:
        for found in _LISTS.finditer(text):
            words = found[1].split(", ")
            for at in range(len(words)):
                yield *found.span(1), ", ".join(words[:at] + words[at + 1 :])
        for pattern, new in ((_RESOURCE, '"*"'), (_LIMIT, "")):
            for found in pattern.finditer(text):
                yield *found.span(1), new


_KEPT = {n: plugins.OPERATOR_PROVIDERS["core"][n] for n in SETTINGS["operators"].split()}
_OURS = [
    type(changes.__name__, (TextOperator,), {"changes": staticmethod(changes)})
    for changes in (drop_term, drop_right)
]
plugins.OPERATOR_PROVIDERS = {"core": _KEPT, "ours": {each.__name__: each for each in _OURS}}


def list_mutants() -> dict[str, Any]:
    """Return the mutants, keyed by names that do not contain line numbers."""
    money = {path for pattern in SETTINGS["money"] for path in PACKAGE.glob(pattern)}
    with use_db(":memory:") as database:
        init({TEMPLATE, *money, *PACKAGE.glob("*/dynamodb/*.py")}, database, {})
        found = [item.mutations[0] for item in database.work_items]
    named, seen = dict[str, Any](), Counter[str]()
    for each in sorted(found, key=lambda at: (at.module_path, at.operator_name, at.occurrence)):
        path, operator = each.module_path, each.operator_name.partition("/")[2]
        line = path.read_text(encoding="utf-8").splitlines()[each.start_pos[0] - 1]
        marked = f"{line[: each.start_pos[1]]}\0{line[each.start_pos[1] :]}"
        is_code = path in money and re.match("_*[a-z]", each.definition_name or "")
        if operator == "AddNot" and ":=" in line:
            continue  # The mutant would not be valid Python.
        if operator in ("drop_term", "drop_right") or (is_code and not _SKIPPED.match(marked)):
            seen[name := f"{path} {operator}: {line.strip()}"] += 1
            named[f"{name} #{seen[name]}"] = each
    return named


def main(tree: str, count: str, seed: str, processes: str, only: str = "") -> int:
    mutants, equivalent = list_mutants(), SETTINGS["equivalent"]
    if gone := equivalent.keys() - mutants.keys():
        sys.exit(f"mutants.toml names what is no mutant: {sorted(gone)}")
    names = [name for name in mutants if re.search(only, name)]
    sample = random.Random(int(seed)).sample(names, min(int(count), len(names)))
    real = [name for name in sample if name not in equivalent]
    trees: SimpleQueue[str] = SimpleQueue()

    def find_catcher(name: str) -> str:
        copy, mutant = trees.get(), mutants[name]
        here = evolve(mutant, module_path=Path(copy, mutant.module_path))
        # testmon tracks only Python files, so name the tests of the template.
        tests = SETTINGS["tests_of_template" if mutant.module_path == TEMPLATE else "tests"]
        done = mutate_and_test([here], f"{COMMAND} {copy} -x -q {tests}", TIMEOUT_S)
        trees.put(copy)
        failed = re.search(
            r"^(?:FAILED|ERROR) ([^\s\[]+)|^timeout$", done.output or "", re.MULTILINE
        )
        by = (failed[1] or "timeout") if failed else ""
        print(f"{by or 'survived'} <- {name}", file=sys.stderr, flush=True)
        return by

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(int(processes)) as pool:
        for number in range(int(processes)):
            trees.put(shutil.copytree(tree, f"{folder}/{number}", symlinks=True))
        catchers = dict(zip(real, pool.map(find_catcher, real), strict=True))
        # A test that fails even without a mutant has caught nothing.
        if tests := sorted({*catchers.values()} - {"", "timeout"}):
            subprocess.run([sys.executable, "-m", "pytest", "-q", *tests], cwd=tree, check=True)
    survived = [name for name, by in catchers.items() if not by]
    counts = len(sample), len(real) - len(survived), len(sample) - len(real)
    figures = dict(zip(("mutants", "caught", "equivalent"), counts, strict=True))
    print(json.dumps({**figures, "survived": survived}, ensure_ascii=False))
    return int(not sample or len(survived) > len(sample) * SURVIVING_MAX)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
