"""The documents tell all there is to know, and nothing that isn't there."""

from __future__ import annotations

import re
import subprocess
import textwrap
import tomllib
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

import redpacket
from local import deployment_page
from local.template import read_template
from redpacket.adapters.dynamo import keys
from redpacket.domain.campaign import CampaignStatus, WhenSoldOut
from redpacket.domain.claim import Fate, GrabStatus, RecordStatus
from redpacket.domain.ledger import TransferKind
from redpacket.domain.lottery import DrawStatus, HelpStatus, PrizeKind, RecordDrawStatus
from redpacket.domain.packet import Kind, Opening, PacketStatus
from redpacket.domain.split import Split
from redpacket.domain.switches import Switch
from redpacket.edge.problems import STATUS_BY_CODE

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "shared" / "redpacket"

DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "README.zh-CN.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *(ROOT / folder / "README.md" for folder in ("lua", "events")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
DECISIONS = sorted((ROOT / "docs" / "adr").glob("*.md"))
LATER_INVARIANTS: set[str] = set()

# Whole words between back quotes, outside code blocks.
_BLOCK = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
_SHELL = re.compile(r"^ *```sh[ \w]*\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
_QUOTED = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)[^)]*\)")
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


def _found(path: str) -> list[Path]:
    """Return what *path* names: from the repository, or from the package."""
    return [found for folder in (ROOT, PACKAGE) for found in folder.glob(path.rstrip("/"))]


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    return read_template()


def _resources(template: dict[str, Any], kind: str) -> dict[str, Any]:
    resources = template["Resources"].items()
    return {name: found for name, found in resources if found["Type"] == kind}


@pytest.fixture(scope="module")
def words() -> set[str]:
    """Return every word that some document has between back quotes."""
    return {
        word
        for document in DOCUMENTS
        for quoted in _quoted(document)
        for word in re.findall(r"[\w./-]+", quoted)
    }


# What a reader looks for.


@pytest.mark.parametrize(
    "enum",
    [
        Kind,
        Opening,
        Split,
        PacketStatus,
        TransferKind,
        Fate,
        GrabStatus,
        RecordStatus,
        CampaignStatus,
        WhenSoldOut,
        Switch,
        PrizeKind,
        DrawStatus,
        RecordDrawStatus,
        HelpStatus,
    ],
)
def test_every_status_word_is_documented(enum: type[StrEnum], words: set[str]) -> None:
    unsaid = {RecordStatus.RECORDED, RecordDrawStatus.RECORDED}
    assert {member.value for member in enum} - unsaid <= words


def test_words_of_answers_outside_enums_are_documented(words: set[str]) -> None:
    assert {"claimed", "already_claimed", "queued", "settled"} <= words


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_every_problem_is_named_with_its_status(document: Path) -> None:
    named = re.findall(r"\b([45]\d\d) `([a-z_]+)`", _text(document))

    assert {(int(status), code) for status, code in named} <= {
        (status, code) for code, status in STATUS_BY_CODE.items()
    }


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_every_route_exists(document: Path, template: dict[str, Any]) -> None:
    routes = _resources(template, "AWS::ApiGatewayV2::Route").values()
    known = {route["Properties"]["RouteKey"] for route in routes} | {"POST /dev/tokens"}

    named = re.findall(r"`((?:GET|POST|PUT|DELETE) /[^` ?]*)", _text(document))

    assert set(named) <= known


def test_the_page_of_the_deployment_has_the_parameters_of_the_template(
    template: dict[str, Any],
) -> None:
    assert _text(deployment_page.PAGE) == deployment_page.page(), "run `make docs`"
    assert set(template["Parameters"]) <= set(_quoted(deployment_page.PAGE))


def test_every_environment_variable_is_documented() -> None:
    variables = re.findall(r'"([A-Z][A-Z_]+)"', _text(PACKAGE / "edge" / "settings.py"))

    assert variables
    assert set(variables) <= set(_quoted(ROOT / "docs" / "operations.md"))


def test_every_alarm_is_documented(template: dict[str, Any]) -> None:
    alarms = _resources(template, "AWS::CloudWatch::Alarm")

    assert set(alarms) == {
        row[0]
        for row in _rows(ROOT / "docs" / "operations.md")
        if row[0].endswith("Alarm") and row[0] != "Alarm"
    }


def _commands(document: Path) -> list[str]:
    """Return the commands of a document without their comments."""
    lines = "".join(_SHELL.findall(_text(document))).splitlines()
    return [command for line in lines if (command := re.sub(r"(^|\s+)#.*$", "", line))]


def test_the_chinese_readme_has_the_commands_and_links_of_the_english_one() -> None:
    english, chinese = ROOT / "README.md", ROOT / "README.zh-CN.md"

    assert _commands(chinese) == _commands(english)
    assert set(_LINK.findall(_text(chinese))) == set(_LINK.findall(_text(english)))


def test_every_port_is_in_the_glossary() -> None:
    ports = [
        found
        for file in sorted((PACKAGE / "ports").glob("*.py"))
        for found in re.findall(r"^class (\w+)\(.*\bProtocol\):", _text(file), re.MULTILINE)
    ]

    assert ports
    assert set(ports) <= set(_quoted(ROOT / "docs" / "glossary.md")), "add them to the glossary"


# The runbook.


RUNBOOK = ROOT / "docs" / "operations.md"
BAD_STATES = {
    "Redis is lost or was flushed",
    "Redis is full",
    "Ledger throttled",
    "Redis is busy",
    "Functions are throttled",
    "DLQ filled",
    "A clock is wrong",
    "A packet is stuck in closing",
    "A claim is refused",
    "Reconciliation did not finish",
    "Reconciliation found a difference",
    "The schedule is silent",
    "Withdrawals wait",
    "Hosts are not told",
    "A gateway's bill differs",
    "A gateway's word contradicts ours",
    "Draws wait for the beacon",
    "The public log differs",
}


def _sections(document: Path) -> dict[str, str]:
    """Return the text under each heading of the second level."""
    sections = re.split(r"^## ", _text(document), flags=re.MULTILINE)[1:]
    return {title: text for title, _, text in (section.partition("\n") for section in sections)}


def test_every_bad_state_names_symptoms_alarms_and_steps() -> None:
    sections = _sections(RUNBOOK)

    assert set(sections) >= BAD_STATES
    for title in BAD_STATES:
        positions = [sections[title].find(f"**{word}**") for word in ("Users see", "Alarms", "Do")]
        assert positions == sorted(positions)
        assert -1 not in positions, title
        assert _SHELL.search(sections[title]), title


def test_every_alarm_leads_to_a_bad_state_that_names_it(template: dict[str, Any]) -> None:
    sections = _sections(RUNBOOK)
    anchors = {re.sub(r"[^\w-]", "", title.lower().replace(" ", "-")): title for title in sections}
    rows = {row[0]: row[2] for row in _rows(RUNBOOK) if row[0].endswith("Alarm")}

    for alarm in _resources(template, "AWS::CloudWatch::Alarm"):
        found = [anchors[anchor] for anchor in re.findall(r"\(#([\w-]+)\)", rows[alarm])]
        assert found, alarm
        assert set(found) <= BAD_STATES
        assert any(alarm in sections[title] for title in found), alarm


def test_every_resource_in_a_command_of_the_runbook_exists(template: dict[str, Any]) -> None:
    resources = template["Resources"]
    events = {
        f"{name}{event}"
        for name, resource in resources.items()
        for event in resource.get("Properties", {}).get("Events", {})
    }
    commands = "".join(_SHELL.findall(_text(RUNBOOK)))

    named = set(re.findall(r"\$\(resource (\w+)\)", commands))
    named |= set(re.findall(r"logged (\w+Logs)", commands))
    outputs = set(re.findall(r"\$\(output (\w+)\)", commands))

    assert named <= set(resources) | events
    assert outputs <= set(template["Outputs"])


def test_the_runbook_asks_every_partition_of_a_work_list() -> None:
    assert f"for shard in $(seq 0 {keys.WORK_SHARDS - 1}); do" in _text(RUNBOOK)


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_every_command_can_be_pasted(document: Path) -> None:
    commands = "".join(textwrap.dedent(block) for block in _SHELL.findall(_text(document)))

    done = subprocess.run(
        ["bash", "-n"],  # noqa: S607 - whatever bash there is
        input=commands,
        text=True,
        capture_output=True,
        check=False,
    )

    assert done.stderr == ""


# The evidence.


EVIDENCE = ROOT / "docs" / "evidence.md"


def test_the_evidence_says_how_to_repeat_it() -> None:
    commands = {row[0] for row in _rows(EVIDENCE)}

    assert {"`make faults`", "`make mutants`", "`make check`"} <= commands


def test_the_evidence_has_its_place_for_the_faults_of_real_processes() -> None:
    text = _text(EVIDENCE)

    assert text.count("<!-- faults-real:begin -->") == text.count("<!-- faults-real:end -->") == 1
    assert text.index("<!-- faults-real:begin -->") < text.index("<!-- faults-real:end -->")


def test_every_bug_in_the_evidence_has_a_test_or_a_control() -> None:
    text = _sections(EVIDENCE)["Bugs that the suites and reviews found"]
    bugs = [line for line in text.splitlines() if line.startswith("| ")][1:]

    assert len(bugs) > 1
    tested = re.compile(r"`(web/test|tests)/")
    assert [bug for bug in bugs if not tested.search(bug.rpartition(" | ")[2])] == []


def test_every_counted_event_is_documented() -> None:
    source = "".join(_text(file) for file in sorted(PACKAGE.rglob("*.py")))
    events = re.findall(r'journal\.(?:event|failure)\(\s*"(\w+)"', source)
    events += re.findall(r'name="(\w+)"', source)

    assert len(events) > 1
    assert set(events) <= set(_quoted(ROOT / "docs" / "operations.md"))


@pytest.mark.parametrize(
    "requirements",
    sorted([*(ROOT / "shared").glob("*.in"), *(ROOT / "requirements").glob("*.in")]),
    ids=_name,
)
def test_every_pinned_dependency_has_its_reason(requirements: Path) -> None:
    pinned = set(re.findall(r"^([\w-]+)", _text(requirements), re.MULTILINE)) - {"-r"}
    title = f"`{_name(requirements)}`"
    sections = _text(ROOT / "docs" / "dependencies.md").split("\n## ")

    (section,) = [section for section in sections if title in section.splitlines()[0]]

    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("|")]
    explained = {name.strip() for row in rows for name in row.split(",")} - {"Package", "---"}
    assert explained == pinned


def test_the_changelog_has_this_version() -> None:
    project = tomllib.loads(_text(ROOT / "pyproject.toml"))["project"]

    assert redpacket.__version__ == project["version"]
    assert f"\n## [{redpacket.__version__}]" in _text(ROOT / "CHANGELOG.md")


# Invariants.


def _invariants() -> dict[str, list[str]]:
    rows = _rows(ROOT / "docs" / "invariants.md")
    return {found[1]: row for row in rows if (found := re.match(r"\*\*(I\d+)\*\*", row[0]))}


def test_every_invariant_has_a_row_in_order() -> None:
    assert list(_invariants()) == [f"I{number}" for number in range(1, 11)]


@pytest.mark.parametrize("rule", sorted({f"I{number}" for number in range(1, 11)}))
def test_an_invariant_is_enforced_and_proven_or_of_a_later_version(rule: str) -> None:
    _, enforced, proven, check = _invariants()[rule]

    if rule in LATER_INVARIANTS:
        assert "later version" in enforced
        assert (proven, check) == ("-", "-")
    else:
        assert enforced
        assert all("::test_" in name for name in _QUOTED.findall(proven))
        assert "::test_" in proven
        assert "check_" in check or check.startswith("none: ")


def test_every_check_of_an_invariant_is_in_the_table() -> None:
    defined = [
        found
        for path in sorted((PACKAGE / "domain" / "checks").glob("*.py"))
        for found in re.findall(
            r'^def (check_\w+)\(.*?"""(I\d+):',
            _text(path),
            re.DOTALL | re.MULTILINE,
        )
    ]

    named = {
        (check, rule) for rule, row in _invariants().items() for check in _QUOTED.findall(row[3])
    }

    assert defined
    assert named == set(defined)


# What a document names must exist.


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_every_path_exists(document: Path) -> None:
    paths = [quoted.partition("::")[0] for quoted in _quoted(document)]

    missing = [
        path
        for path in paths
        if _PATH.fullmatch(path) and "/" in path and not path.startswith(".") and not _found(path)
    ]

    assert missing == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_every_test_that_proves_something_exists(document: Path) -> None:
    named = [quoted.split("::") for quoted in _quoted(document) if "::test_" in quoted]

    missing = [
        f"{path}::{name}"
        for path, name in named
        if not any(re.search(rf"\b{name}\b", _text(file)) for file in _found(path))
    ]

    assert missing == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_every_link_leads_somewhere(document: Path) -> None:
    broken = [
        link for link in _LINK.findall(_text(document)) if not (document.parent / link).exists()
    ]

    assert broken == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_every_command_exists(document: Path) -> None:
    targets = re.findall(r"^([a-z][a-z-]*):", _text(ROOT / "Makefile"), re.MULTILINE)
    quoted = "\n".join([*_quoted(document), *_BLOCK.findall(_text(document))])

    commands = set(re.findall(r"(?:^|`)make ([a-z][a-z-]*)", quoted, re.MULTILINE))

    assert commands <= set(targets)


def test_every_event_in_a_command_exists() -> None:
    events = re.findall(r"events/[\w-]+\.json", _text(ROOT / "docs" / "guide.md"))

    assert events
    assert [event for event in events if not (ROOT / event).is_file()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_no_document_knows_the_machine_it_was_written_on(document: Path) -> None:
    assert not re.search(r"(?<![\w.}/])/(?:home|root|tmp|usr|var|work|Users)/", _text(document))


@pytest.mark.parametrize("decision", DECISIONS, ids=_name)
def test_a_decision_has_its_four_parts(decision: Path) -> None:
    parts = re.findall(r"^## (.*)$", _text(decision), re.MULTILINE)

    assert parts == ["Context", "Decision", "Consequences", "Rejected"]


def test_no_two_decisions_have_the_same_number() -> None:
    # A decision that is removed leaves a gap.
    numbers = [int(decision.name[:4]) for decision in DECISIONS]

    assert len(numbers) == len(set(numbers))


def test_the_picture_is_whole_and_works_in_the_dark() -> None:
    picture = _text(ROOT / "docs" / "flow.svg")

    assert picture.rstrip().endswith("</svg>")
    assert "prefers-color-scheme: dark" in picture
    assert "<title" in picture
    assert "<script" not in picture
