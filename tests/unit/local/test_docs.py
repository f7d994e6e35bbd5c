"""Documents: they describe what users and operators need, and name only things that exist."""

import re
import subprocess
import textwrap
from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

import redpacket
from local import reference_pages
from local.drill import DRILLS
from local.openapi import errors_by_code
from local.template import read_template
from redpacket.campaigns.model import CampaignStatus, WhenSoldOut
from redpacket.ledger.model import TransferKind
from redpacket.lottery.model.lottery import (
    DrawStatus,
    HelpStatus,
    PrizeKind,
    RecordDrawStatus,
)
from redpacket.operations.model.switches import Switch
from redpacket.packets.model.claim import GrabStatus, RecordStatus, ShareStatus
from redpacket.packets.model.packet import Kind, Opening, PacketStatus
from redpacket.packets.split import Split
from redpacket_cli.main import app
from testing.documents import PAGES, RUNBOOK, blocks_of
from testing.reconciliation.checks import CHECKS

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "shared" / "redpacket"

DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "README.zh-CN.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *(ROOT / folder / "README.md" for folder in ("lua", "events")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
INDEX, REHEARSAL = RUNBOOK / "README.md", RUNBOOK / "rehearsal.md"

_WORDS_MAX = 2_000
"""Maximum number of words on a page."""

# Patterns for code blocks, shell commands, quoted words, links and headings.
_BLOCK = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
_SHELL = re.compile(r"^ *```sh[ \w]*\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
_EACH = re.DOTALL | re.MULTILINE
_QUOTED = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_CODE = {".py", ".lua", ".ts"}
_CITED = re.compile(r"\bdocs/[\w/-]*\w|\b[A-Z]{3,}(?=\.md\b)|\b[A-Z]{3,}(?= §)")
_PATH = re.compile(r"[\w.*-]+(/[\w.*-]+)*(/|\.(py|lua|md|yaml|toml|json|svg|in|txt))")


def _text(document: Path) -> str:
    return document.read_text(encoding="utf-8")


def _name(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def _quoted(document: Path) -> list[str]:
    return _QUOTED.findall(_BLOCK.sub("", _text(document)))


def _rows(document: Path) -> list[list[str]]:
    """Return the cells of every table row."""
    lines = [line for line in _text(document).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def _wrong(in_document: Callable[[Path], Iterable[object]]) -> list[str]:
    """Return the violations of a rule in all documents."""
    return [
        f"{_name(document)}: {value}" for document in DOCUMENTS for value in in_document(document)
    ]


def _found(path: str) -> list[Path]:
    """Return the files that *path* matches, relative to the repository or to the package."""
    return [file for folder in (ROOT, PACKAGE) for file in folder.glob(path.rstrip("/"))]


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    return read_template()


def _resources(template: dict[str, Any], kind: str) -> dict[str, Any]:
    resources = template["Resources"].items()
    return {name: resource for name, resource in resources if resource["Type"] == kind}


@pytest.fixture(scope="module")
def words() -> set[str]:
    """Return every word that a document puts between backticks."""
    return {
        word
        for document in DOCUMENTS
        for quoted in _quoted(document)
        for word in re.findall(r"[\w./-]+", quoted)
    }


# ---- words that the documents must explain


STATUSES: list[type[StrEnum]] = [
    Kind,
    Opening,
    Split,
    PacketStatus,
    TransferKind,
    ShareStatus,
    GrabStatus,
    RecordStatus,
    CampaignStatus,
    WhenSoldOut,
    Switch,
    PrizeKind,
    DrawStatus,
    RecordDrawStatus,
    HelpStatus,
]


def test_every_status_word_is_documented(words: set[str]) -> None:
    statuses = {"claimed", "already_claimed", "queued", "settled"}
    statuses |= {member.value for enum in STATUSES for member in enum}

    assert statuses - {RecordStatus.RECORDED, RecordDrawStatus.RECORDED} - words == set()


def test_every_problem_is_named_with_its_status() -> None:
    def wrong(document: Path) -> list[str]:
        named = re.findall(r"\b([45]\d\d) `([a-z_]+)`", _text(document))
        statuses = {code: error.status for code, error in errors_by_code().items()}
        return [code for status, code in named if statuses.get(code) != int(status)]

    assert _wrong(wrong) == []


def test_every_route_exists(template: dict[str, Any]) -> None:
    routes = _resources(template, "AWS::ApiGatewayV2::Route").values()
    route_keys = {route["Properties"]["RouteKey"] for route in routes} | {"POST /dev/tokens"}
    named = re.compile(r"`((?:GET|POST|PUT|DELETE) /[^` ?]*)")

    assert _wrong(lambda document: set(named.findall(_text(document))) - route_keys) == []


def test_generated_tables_have_the_parameters_and_alarms_of_the_template(
    template: dict[str, Any],
) -> None:
    for page in reference_pages.TABLES:
        assert _text(page) == reference_pages.filled(page), "run `make docs`"
    assert set(template["Parameters"]) <= set(_quoted(reference_pages.PARAMETERS))


def test_every_environment_variable_is_documented() -> None:
    variables = re.findall(r'"([A-Z][A-Z_]+)"', _text(PACKAGE / "platform" / "settings.py"))

    assert variables
    assert set(variables) <= set(_quoted(ROOT / "docs" / "reference" / "settings.md"))


def _commands(document: Path) -> list[str]:
    """Return a document's shell commands without comments and here-documents."""
    blocks = "".join(_SHELL.findall(_text(document)))
    text = re.sub(r"(<<EOF\n).*?^ *EOF$", r"\1", blocks, flags=_EACH)
    lines = text.splitlines()
    return [command for line in lines if (command := re.sub(r"(^|\s+)#.*$", "", line))]


CHINESE = {
    page: next(
        (other for other in sorted((ROOT / "docs").rglob(page.name)) if other.parent.name != "zh"),
        page,
    )
    for page in sorted((ROOT / "docs" / "zh").glob("*.md"))
}
"""English pages, keyed by the Chinese page of the same name."""


@pytest.mark.parametrize("page", CHINESE, ids=lambda page: page.name)
def test_a_chinese_page_has_the_commands_and_routes_of_the_english_one(page: Path) -> None:
    english = CHINESE[page]
    route = re.compile(r"`((?:GET|POST|PUT|DELETE) /[^`]*)`")

    assert _commands(page) == _commands(english)
    if page.name != "README.md":
        assert set(route.findall(_text(page))) == set(route.findall(_text(english)))


GUIDE = sorted((ROOT / "docs" / "guide").glob("*.md"))


def _shape(text: str) -> tuple[list[str], dict[str, int]]:
    """Return the heading levels and the numbers of items, rows and code blocks."""
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    marks = {"item": r"^\s*(?:-|\d+\.) ", "row": r"^\|", "block": "```"}
    counts = {
        name: len(re.findall(mark, text if name == "block" else prose, re.MULTILINE))
        for name, mark in marks.items()
    }
    return re.findall(r"^#+(?= )", prose, re.MULTILINE), counts


@pytest.mark.parametrize("page", GUIDE, ids=lambda page: page.name)
def test_each_page_of_the_guide_is_covered_in_chinese(page: Path) -> None:
    english, chinese = _text(page), _text(ROOT / "docs" / "zh" / page.name)

    assert _shape(chinese) == _shape(english)
    assert set(_quoted(page)) <= set(_quoted(ROOT / "docs" / "zh" / page.name))
    assert f"({page.name})" in _text(ROOT / "docs" / "zh" / "README.md")


def test_the_chinese_readme_has_the_commands_and_links_of_the_english_one() -> None:
    english, chinese = ROOT / "README.md", ROOT / "README.zh-CN.md"
    in_english = {_name(page): _name(other) for page, other in CHINESE.items()}
    links = {(in_english.get(link, link), anchor) for link, anchor in _LINK.findall(_text(chinese))}

    assert _commands(chinese) == _commands(english)
    assert links == set(_LINK.findall(_text(english)))


# The core in an hour.

_CORE_LINES_MAX = 4_500
"""Maximum number of lines in the reading path of the core."""


def _core(readme: Path) -> list[str]:
    """Return the files of the reading path, in its order."""
    table = re.split(
        r"^## (?:The core in an hour|一小时读懂核心)$", _text(readme), flags=re.MULTILINE
    )[1]
    rows = [line for line in table.split("\n## ")[0].splitlines() if line.startswith("| ")]
    return [path for row in rows for quoted in _QUOTED.findall(row) for path in _expanded(quoted)]


def _expanded(path: str) -> list[str]:
    """Expand one list of names between braces, as a shell does."""
    names = re.search(r"\{(.*)\}", path)
    return [path.replace(names[0], name) for name in names[1].split(",")] if names else [path]


@pytest.mark.parametrize("readme", ["README.md", "README.zh-CN.md"])
def test_the_reading_path_of_the_core_exists_and_stays_short(readme: str) -> None:
    files = [ROOT / path for path in _core(ROOT / readme)]

    assert len(files) >= 30
    assert [_name(file) for file in files if not file.is_file()] == []
    assert sum(len(_text(file).splitlines()) for file in files) <= _CORE_LINES_MAX


def test_both_readmes_have_the_same_reading_path() -> None:
    assert _core(ROOT / "README.md") == _core(ROOT / "README.zh-CN.md")


def test_the_template_declares_the_core_functions_first_and_says_where_they_end() -> None:
    core, _, others = _text(ROOT / "template.yaml").partition("the core ends here")

    assert re.findall(r"^  (\w+)Function:$", core, re.MULTILINE) == [
        name.capitalize() for name in ("send", "grab", "payout", "expire")
    ]
    assert len(re.findall(r"^  \w+Function:$", others, re.MULTILINE)) > 1


# The words.

WRITTEN = [
    page
    for page in (*DOCUMENTS, ROOT / "SECURITY.md")
    if page.parent == ROOT or page.is_relative_to(ROOT / "docs")
    # The changelog grows with each change; others are translations or pages that `make bench`
    # writes.
    if page.name not in {"CHANGELOG.md", "README.zh-CN.md", "performance.md", "capacity.md"}
    if page.parent.name != "zh"
]
"""Pages that are written by hand in English."""

_WRITTEN_WORDS_MAX = 40_000


def test_handwritten_documents_stay_short() -> None:
    generated = re.compile(r"<!-- ([\w-]+):begin -->.*?<!-- \1:end -->", re.DOTALL)

    words = sum(len(generated.sub("", _text(page)).split()) for page in WRITTEN)

    assert words <= _WRITTEN_WORDS_MAX


# The runbook.


def test_every_alarm_is_in_the_index_and_on_its_page(template: dict[str, Any]) -> None:
    pages = {row[0]: row[2] for row in _rows(INDEX) if row[0].endswith("Alarm") and len(row) == 3}
    pages.pop("Alarm", None)

    assert pages.keys() == _resources(template, "AWS::CloudWatch::Alarm").keys()
    for alarm, link in pages.items():
        ((page, _),) = _LINK.findall(link)
        (alarms,) = re.findall(r"\*\*Alarms\*\*.*?\n\n", _text(RUNBOOK / page), re.DOTALL)
        assert alarm in alarms, (alarm, page)


def test_the_rehearsal_has_each_drill_and_links_to_the_page_of_its_alarm() -> None:
    index = {row[0]: _LINK.findall(row[2]) for row in _rows(INDEX) if len(row) == 3}
    (lines,) = _SHELL.findall(_text(REHEARSAL))
    rows = {row[0]: row for row in _rows(REHEARSAL) if len(row) == 4}
    drills = {f"{name}={value}": f"{seconds}" for (name, value), (_, seconds) in DRILLS.items()}

    assert {line.removeprefix("make drill ") for line in lines.splitlines()} == drills.keys()
    assert {drill: row[1] for row in rows.values() for drill in _QUOTED.findall(row[0])} == drills
    for _, _, alarms, links in rows.values():
        for alarm in re.findall(r"\w+Alarm", alarms):
            assert index[alarm][0] in _LINK.findall(links), alarm


def test_every_page_of_the_runbook_has_its_sections_and_commands() -> None:
    for page in set(RUNBOOK.glob("*.md")) - {INDEX, REHEARSAL}:
        places = [
            _text(page).find(f"**{word}**") for word in ("Alarms", "Users see", "Check", "Do")
        ]
        assert -1 < places[0] < places[1] < places[2] < places[3], page
        assert _SHELL.search(_text(page)), page
        assert f"({page.name})" in _text(INDEX), page


def test_every_page_of_the_runbook_ends_with_the_command_that_confirms_the_repair() -> None:
    for page in set(RUNBOOK.glob("*.md")) - {INDEX, REHEARSAL}:
        last = " ".join(_text(page).rpartition("\n\n")[2].split())
        named = re.findall(r"`(redpacket [^`]+)`", last)

        assert last.startswith("It is over when `redpacket "), page
        shown = "".join(_SHELL.findall(_text(page))) + _text(page).partition("**Do**")[0]
        assert [command for command in named if command not in shown] == [], page


_LOGGED = re.compile(r"redpacket (?:logs|count) (\S+) (?:'([^']+)'|([\w.]+))")
_LOOPED = re.compile(r"for words in (.+?); do redpacket logs (\w+)")
_OF_AWS = {"Task timed out", "Runtime exited", "AccessDenied"}
"""Texts that AWS writes into a function's log."""


def _logged(page: str) -> list[tuple[str, str]]:
    """Return (function, text) pairs: *page*'s commands search the function's log for the text."""
    looped = [(name, word) for words, name in _LOOPED.findall(page) for word in words.split()]
    return [*((name, quoted or word) for name, quoted, word in _LOGGED.findall(page)), *looped]


def test_the_code_writes_each_text_that_a_document_looks_for_in_logs() -> None:
    files = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.sql"), *(ROOT / "functions").rglob("*.py")]
    # Long texts are split into several literals.
    source = re.sub(r'"\s+f?"', "", " ".join(" ".join(map(_text, files)).split()))
    # An error is logged under the name of its own class, so a base class's name matches other
    # faults.
    bases = set(re.findall(r"class \w+\((\w+)\)", source))

    def wrong(document: Path) -> list[str]:
        page = _text(document)
        texts = [text for name, text in _logged(page) if name.islower() and name != "api"]
        if document.parent == RUNBOOK:
            texts += re.findall(r"`(?!redpacket|make|aws)([a-z]+(?: [a-z]+)+)[ .]*`", page)
        written = {*_OF_AWS, "ERROR"}
        return [
            text for text in texts if text not in written and (text not in source or text in bases)
        ]

    assert _wrong(wrong) == []


def test_a_command_looks_for_an_event_in_the_log_of_a_function_that_counts_it() -> None:
    functions = {
        event: row[1]
        for row in _rows(ROOT / "docs" / "reference" / "events.md")
        for event in _QUOTED.findall(row[0])
    }
    pairs = {pair for document in DOCUMENTS for pair in _logged(_text(document))}
    known = {(name, event) for name, event in pairs if event in functions}

    assert len(known) > 15
    assert [each for each in known if each[0] not in re.findall(r"\w+", functions[each[1]])] == []


_ONLY_AWS = re.compile(
    r"redpacket logs api|aws elasticache|--namespace AWS/|put-function-concurrency"
)
"""Commands that a local stack cannot run, or that print no line on it."""


def test_each_block_of_the_runbook_that_needs_aws_says_so() -> None:
    blocks = [block for page in PAGES for block in blocks_of(page)]

    needing = [block for block in blocks if _ONLY_AWS.search(block.commands)]

    assert len(needing) > 5
    assert [block for block in needing if not block.needs_aws] == []


def test_every_resource_in_a_command_exists(template: dict[str, Any]) -> None:
    resources = template["Resources"]
    events = {
        f"{name}{event}"
        for name, resource in resources.items()
        for event in resource.get("Properties", {}).get("Events", {})
    }
    names = set(resources) | events | set(template["Outputs"])

    def wrong(document: Path) -> set[str]:
        commands = "".join(_SHELL.findall(_text(document)))
        logs = {
            f"{name.capitalize()}Logs" for name in re.findall(r"redpacket logs (\w+)", commands)
        }
        return (set(re.findall(r"redpacket resource (\w+)", commands)) | logs) - names

    assert _wrong(wrong) == []


def test_every_command_of_redpacket_exists() -> None:
    def wrong(document: Path) -> set[str]:
        text = "".join(_SHELL.findall(_text(document))) + "".join(
            f"{quoted}\n" for quoted in _quoted(document) if quoted.startswith("redpacket ")
        )
        named = re.findall(r"(?<![\w-])redpacket (?:--\S+ \S+ )*([a-z]+)(?: ([a-z]+))?", text)
        return {" ".join(words) for words in named if not _is_command(*words)}

    assert _wrong(wrong) == []


def _is_command(name: str, child: str) -> bool:
    stored = _COMMANDS.get(name)
    return stored is not None and (not stored or child in stored)


_COMMANDS = {
    name: set(getattr(command, "commands", {}))
    for name, command in getattr(typer.main.get_command(app), "commands", {}).items()
}
"""Commands of `redpacket` with their subcommands."""


def test_every_command_can_be_pasted() -> None:
    def wrong(document: Path) -> list[str]:
        commands = "".join(textwrap.dedent(block) for block in _SHELL.findall(_text(document)))
        bash = ["bash", "-n"]
        done = subprocess.run(bash, input=commands, text=True, capture_output=True, check=False)
        return done.stderr.splitlines()

    assert _wrong(wrong) == []


def test_every_counted_event_is_documented() -> None:
    source = "".join(_text(file) for file in sorted(PACKAGE.rglob("*.py")))
    events = re.findall(r'logger\.(?:event|failure)\(\s*"(\w+)"', source)
    events += re.findall(r'name="(\w+)"', source)

    assert len(events) > 1
    assert set(events) <= set(_quoted(ROOT / "docs" / "reference" / "events.md"))


def test_every_pinned_dependency_has_its_reason() -> None:
    pins = [
        line
        for requirements in [*ROOT.glob("shared/*.in"), *ROOT.glob("requirements/*.in")]
        for line in _text(requirements).splitlines()
        if not line.startswith(("# ", "-r "))
    ]

    assert len(pins) > 1
    assert [pin for pin in pins if not reference_pages.PIN.fullmatch(pin)] == []


def test_the_changelog_has_this_version() -> None:
    assert f"\n## [{redpacket.__version__}]" in _text(ROOT / "CHANGELOG.md")


# Invariants.


def _invariants() -> dict[str, list[str]]:
    rows = _rows(ROOT / "docs" / "invariants.md")
    return {matched[1]: row for row in rows if (matched := re.match(r"\*\*(I[-\w]+)\*\*", row[0]))}


def test_every_invariant_has_a_row_in_order() -> None:
    names = list(_invariants())

    assert names[:10] == [f"I{number}" for number in range(1, 11)]
    assert all(name.startswith("I-") for name in names[10:])


def test_every_invariant_is_enforced_and_proven() -> None:
    for _, enforced, proven, check in _invariants().values():
        assert enforced
        assert "::test_" in proven
        assert all("::test_" in name for name in _QUOTED.findall(proven)), proven
        assert "check_" in check or check.startswith("none: "), check


def test_every_check_of_an_invariant_is_in_the_table() -> None:
    defined = [
        check
        for path in [
            *(PACKAGE / "reconciliation" / "checks").glob("*.py"),
            ROOT / "testing" / "reconciliation" / "checks.py",
            ROOT / "testing" / "payments" / "outside_checks.py",
        ]
        for check in re.findall(
            r'^def (check_\w+)\(.*?"""(I[-\w]+):', _text(path), re.DOTALL | re.MULTILINE
        )
    ]
    named = [
        (check, rule) for rule, row in _invariants().items() for check in _QUOTED.findall(row[3])
    ]

    assert named == list(CHECKS.items())
    assert set(named) == set(defined)


def test_a_check_that_only_tests_run_is_not_in_the_package() -> None:
    used = " ".join(_text(path) for path in PACKAGE.glob("*/use_cases/*.py"))
    unused = [
        check
        for path in (PACKAGE / "reconciliation" / "checks").glob("*.py")
        for check in re.findall(r"^def (check_\w+)", _text(path), re.MULTILINE)
        if check not in used
    ]

    assert unused == []


# Every path, test and link in a document must exist.


def test_every_path_exists() -> None:
    def wrong(document: Path) -> list[str]:
        paths = [quoted.partition("::")[0] for quoted in _quoted(document)]
        named = [path for path in paths if _PATH.fullmatch(path) and "/" in path]
        return [path for path in named if not path.startswith(".") and not _found(path)]

    assert _wrong(wrong) == []


def test_every_document_that_code_cites_exists() -> None:
    folders = ("bench", "cli", "functions", "local", "lua", "shared", "testing", "tests", "web/src")
    files = [file for name in folders for file in (ROOT / name).rglob("*.*")]
    code = [ROOT / "template.yaml", *(file for file in files if file.suffix in _CODE)]

    cited = [(_name(file), name) for file in code for name in _CITED.findall(_text(file))]

    assert len(cited) > 100
    assert [each for each in cited if not list(ROOT.glob(f"{each[1]}*"))] == []


def test_every_test_that_proves_something_exists() -> None:
    def wrong(document: Path) -> list[str]:
        named = [quoted for quoted in _quoted(document) if "::test_" in quoted]
        return [test for test in named if not _is_test(*test.split("::"))]

    assert _wrong(wrong) == []


def _is_test(path: str, name: str) -> bool:
    return any(re.search(rf"\b{name}\b", _text(file)) for file in _found(path))


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    def wrong(document: Path) -> list[str]:
        return [
            f"{link}#{anchor}"
            for link, anchor in _LINK.findall(_text(document))
            if not _leads_somewhere(document.parent / link if link else document, anchor)
        ]

    assert _wrong(wrong) == []


def _leads_somewhere(file: Path, anchor: str) -> bool:
    return file.exists() and (not anchor or anchor in _anchors(file))


@cache
def _anchors(document: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = _HEADING.findall(_BLOCK.sub("", _text(document)))
    texts = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w -]", "", text.lower()).strip().replace(" ", "-") for text in texts}


def test_code_in_a_list_is_indented_as_the_site_requires() -> None:
    # GitHub accepts three spaces; the site needs four.
    assert (
        _wrong(lambda page: re.findall(r"^(?: {1,3}| {5,})```.*", _text(page), re.MULTILINE)) == []
    )


@pytest.mark.parametrize("folder", ["guide", "how-to", "reference", "runbook"])
def test_no_page_is_too_long_to_read_in_one_sitting(folder: str) -> None:
    lengths = {page.name: len(_text(page).split()) for page in (ROOT / "docs" / folder).glob("*")}

    assert lengths
    assert {name: count for name, count in lengths.items() if count > _WORDS_MAX} == {}


def test_every_command_exists() -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", _text(ROOT / "Makefile"), re.MULTILINE))

    def wrong(document: Path) -> set[str]:
        quoted = "\n".join([*_quoted(document), *_BLOCK.findall(_text(document))])
        return set(re.findall(r"(?:^|`)make ([a-z][a-z-]*)", quoted, re.MULTILINE)) - targets

    assert _wrong(wrong) == []


def test_every_event_in_a_command_exists() -> None:
    events = re.findall(r"events/[\w-]+\.json", _text(ROOT / "events" / "README.md"))

    assert events
    assert [event for event in events if not (ROOT / event).is_file()] == []


def test_no_document_names_the_machine_on_which_it_was_written() -> None:
    machine = re.compile(r"(?<![\w.}/])/(?:home|root|tmp|usr|var|work|Users)/")

    assert _wrong(lambda document: machine.findall(_text(document))) == []


def test_no_two_decisions_have_the_same_number() -> None:
    # A removed decision leaves a gap.
    numbers = [decision.name[:4] for decision in (ROOT / "docs" / "adr").glob("0*.md")]

    assert len(numbers) == len(set(numbers))


def test_architecture_names_each_context() -> None:
    page = _text(ROOT / "docs" / "architecture.md").split("## Contexts and layers")[1]
    rows = [line for line in page.split("\n## ")[0].splitlines() if line.startswith("| `")]

    named = {name for row in rows for name in _QUOTED.findall(row.split("|")[1])}

    folders = (ROOT / "shared" / "redpacket").iterdir()
    assert named == {each.name for each in folders if (each / "__init__.py").exists()}
