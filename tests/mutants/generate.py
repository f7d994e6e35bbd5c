"""Mutants of the modules that decide about money, and of the statements of the functions' roles.

mutmut's operators change expressions. Ours drop a statement (a call or a `raise`), a term of a
DynamoDB condition, or an action, an attribute or the condition of a role, or let it reach every
resource. Text, annotations, decorators and module constants other than conditions stay as they
are: a type checker notices their changes, or nothing is decided by them.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper
from mutmut.mutation import mutators

from local import places

PACKAGE = "shared/redpacket"
TEMPLATE = "template.yaml"
_MONEY = {
    "approvals": "model",
    "approvals/dynamodb": "approvals",
    "approvals/use_cases": "*",
    "campaigns": "model",
    "campaigns/dynamodb": "campaigns",
    "erasure": "erase_user",
    "fairness/model": "days",
    "ledger": "model",
    "ledger/dynamodb": "deposits posting requests",
    "ledger/use_cases": "deposit",
    "lottery/dynamodb": "draws unit_stock",
    "lottery/model": "lottery odds winners",
    "lottery/use_cases": "apply_edit decide_winner draw_prize edit_campaign edit_prize"
    " draw_attempt help_inviter",
    "operations/model": "allowances limits",
    "operations/use_cases": "approval_policy",
    "packets/dynamodb": "claims funding ledger shares",
    "packets/model": "claim closing packet",
    "packets/split": "*",
    "packets/use_cases": "campaign_quota claim_gates claim_share close_packet expire_packets"
    " refund_packet send_packet settle_claims",
    "payments/dynamodb": "payments returns withdrawals",
    "payments/model": "authorization payments withdrawals",
    "payments/use_cases": "bind_account compare_statements confirm_payment dispatch"
    " handle_callback return_payment start_payment sweep_payments"
    " transfer withdraw",
    "reconciliation/checks": "*",
}
_CONDITIONS = f"{PACKAGE}/*/dynamodb/*.py"
"""Modules of which only the conditions are changed: no other line decides."""
MODULES = [
    *(f"{PACKAGE}/{folder}/{name}.py" for folder, all_ in _MONEY.items() for name in all_.split()),
    _CONDITIONS,
]

# mypy refuses None in place of a value and a missing argument; a changed text fails at once where
# it is a name, and decides nothing where it is a message.
_LEFT_OUT = {
    mutators.operator_arg_removal,
    mutators.operator_assignment,
    mutators.operator_dict_arguments,
    mutators.operator_string,
}
_OPERATORS = [pair for pair in mutators.mutation_operators if pair[1] not in _LEFT_OUT]
_LOG = re.compile(r"(^|\.)_?(logger|metrics)\.\w+$")
_FLAGS = {"strict", "ensure_ascii"}

_CONDITION = re.compile(r"attribute_(not_)?exists\(|[#\w]+ (=|<>|<=|>=|<|>) :\w+|\{[A-Z_]+\} AND ")
_NO_CONDITION = re.compile(r" ?(SET|ADD|REMOVE|,) |(pk|list_pk|work_pk) = |\"")
_ALWAYS = "attribute_exists(pk) OR attribute_not_exists(pk)"

_STATEMENT = re.compile(
    r"^  (?P<resource>\w+):.*\n"
    r"|^(?P<lead> *(?:- )?)(?P<flow>\{ )?Sid: (?P<sid>\w+).*\n",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Mutant:
    """One change of one file: the bytes from *start* to *end* become *code*."""

    path: str
    function: str
    start: int
    end: int
    code: str
    copy: int = 1

    @property
    def text(self) -> str:
        """Return the file with the change."""
        return self._changed.decode()

    @property
    def lines(self) -> range:
        """Return the numbers of the lines that change."""
        first = read(self.path).count(b"\n", 0, self.start) + 1
        return range(first, first + read(self.path).count(b"\n", self.start, self.end) + 1)

    @property
    def _changed(self) -> bytes:
        source = read(self.path)
        return source[: self.start] + self.code.encode() + source[self.end :]

    @cached_property
    def name(self) -> str:
        """Return what identifies it while the code around it moves: its lines before and after."""
        source, after = read(self.path), self._changed
        begin = source.rfind(b"\n", 0, self.start) + 1
        until = source.find(b"\n", self.end - 1)
        steps = source[begin:until], after[begin : until + len(after) - len(source)]
        before, now = (" ".join(part.decode().split()) for part in steps)
        again = f" ({self.copy})" if self.copy > 1 else ""
        return f"{self.path} {self.function}: {before} -> {now}{again}"


@cache
def read(path: str) -> bytes:
    """Return the bytes of a file of the tree."""
    return (places.ROOT / path).read_bytes()


def list_mutants() -> list[Mutant]:
    """Return all mutants, in the order of files."""
    money, conditions = _files(MODULES[:-1]), _files(MODULES[-1:])
    mutants: list[Mutant] = []
    for path in sorted(money | conditions):
        visitor = _Visitor(path, is_money=path in money)
        MetadataWrapper(cst.parse_module(read(path)), unsafe_skip_copy=True).visit(visitor)
        mutants += visitor.mutants
    seen: Counter[str] = Counter()
    for at, mutant in enumerate(mutants := [*mutants, *_mutants_of_roles()]):
        seen[mutant.name] += 1
        mutants[at] = replace(mutant, copy=seen[mutant.name])
    return mutants


def _files(patterns: list[str]) -> set[str]:
    """Return the files of *patterns*; each must name some, or a renamed module is left out."""
    files = {pattern: list(places.ROOT.glob(pattern)) for pattern in patterns}
    if lost := [pattern for pattern, paths in files.items() if not paths]:
        raise FileNotFoundError(f"no file matches {lost}")
    return {str(path.relative_to(places.ROOT)) for paths in files.values() for path in paths}


class _Visitor(cst.CSTVisitor):
    METADATA_DEPENDENCIES = (ByteSpanPositionProvider,)

    def __init__(self, path: str, *, is_money: bool) -> None:
        super().__init__()
        self._is_money = is_money
        self.mutants: list[Mutant] = []
        self._path = path
        self._scopes: list[str] = []
        self._functions = 0

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            self._scopes.append(node.name.value)
            self._functions += isinstance(node, cst.FunctionDef)
        has_money = self._is_money and self._functions
        if isinstance(node, cst.Expr | cst.Raise) and has_money and _does_something(node):
            self._add(node, "pass")
        if isinstance(node, cst.SimpleString | cst.FormattedString) and "dynamo" in self._path:
            for code in _conditions(_code(node)):
                self._add(node, code)
        if _decides_nothing(node):
            return False
        if has_money:
            for kind, operator in _OPERATORS:
                for mutated in operator(node) if isinstance(node, kind) else ():
                    self._add(node, _code(mutated))
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if isinstance(original_node, cst.FunctionDef | cst.ClassDef):
            self._scopes.pop()
            self._functions -= isinstance(original_node, cst.FunctionDef)

    def _add(self, node: cst.CSTNode, code: str) -> None:
        span = self.get_metadata(ByteSpanPositionProvider, node)
        end = span.start + span.length
        original = read(self._path)[span.start : end].decode()
        start = end - len(original.lstrip().encode())
        whole = _code(node)
        if whole.split() != original.split() and code != "pass":
            # Its parentheses are not in its place.
            if whole[1:-1].split() != original.split() or code[0] + code[-1] != "()":
                return
            code = code[1:-1]
        scope = ".".join(self._scopes) or "(module)"
        self.mutants.append(Mutant(self._path, scope, start, end, code))


def _code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node).strip()


def _does_something(node: cst.Expr | cst.Raise) -> bool:
    if isinstance(node, cst.Raise):
        return node.exc is not None
    return isinstance(node.value, cst.Call) and not _decides_nothing(node.value)


def _decides_nothing(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.Arg):
        return bool(node.keyword and node.keyword.value in _FLAGS)
    if isinstance(node, cst.Call):
        return bool(_LOG.search(_code(node.func)))
    if isinstance(node, cst.Lambda):
        return _code(node.body) == "None"
    skipped = cst.Annotation | cst.Assert | cst.BaseString | cst.Decorator | cst.ImportFrom
    return isinstance(node, skipped | cst.Import | cst.Raise)


def _conditions(literal: str) -> Iterator[str]:
    """Yield a text of a DynamoDB condition without one of its terms."""
    match = re.fullmatch(r'(\(?\s*f?")(.*)("\s*\)?)', literal, re.DOTALL)
    if not match or not _CONDITION.search(match[2]) or _NO_CONDITION.match(match[2]):
        return
    head, body, tail = match.groups()
    steps = re.split(r"( AND | OR )", body)
    for at in range(0, len(steps), 2):
        if steps[at]:  # not the end of a text that is continued
            left = steps[2:] if at == 0 else steps[: at - 1] + steps[at + 1 :]
            yield head + ("".join(left) or _ALWAYS) + tail


def _mutants_of_roles() -> Iterator[Mutant]:
    text = read(TEMPLATE).decode("latin-1")  # so that a place is a number of bytes
    resource = ""
    for match in _STATEMENT.finditer(text):
        resource = match["resource"] or resource
        if not match["sid"]:
            continue
        deeper = "" if match["flow"] else rf"(?: {{{len(match['lead'])}}}.*\n)*"
        more = re.match(deeper, text[match.end() :])
        body = match[0] + (more[0] if more else "")
        for start, end, code in _changes_of(body):
            name = f"{resource}.{match['sid']}"
            yield Mutant(TEMPLATE, name, match.start() + start, match.start() + end, code)


def _changes_of(body: str) -> Iterator[tuple[int, int, str]]:
    """Yield the place and the replacement of each change of a statement."""
    for terms in re.finditer(r"(?:Action|dynamodb:Attributes): \[(.*?)\]", body):
        words = terms[1].split(", ")
        for at in range(len(words)):
            yield *terms.span(1), ", ".join(words[:at] + words[at + 1 :])
    for reached in re.finditer(r"Resource: (?!\"\*\")(.+?)(?: \})?\n", body):
        yield *reached.span(1), '"*"'
    for condition in re.finditer(r"^( +)Condition:\n(?:\1 .*\n)+", body, re.MULTILINE):
        yield *condition.span(), ""
