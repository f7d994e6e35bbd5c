"""Writer of the generated tables in docs/: parameters, alarms, functions, and others."""

import ast
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from local import places
from local.template import read_template

PARAMETERS = places.ROOT / "docs" / "reference" / "parameters.md"
RUNBOOK = places.ROOT / "docs" / "runbook" / "README.md"
SETTINGS = places.ROOT / "docs" / "reference" / "settings.md"
DEPENDENCIES = places.ROOT / "docs" / "dependencies.md"
WEBHOOKS = places.ROOT / "docs" / "reference" / "webhooks.md"
FUNCTIONS = places.ROOT / "docs" / "reference" / "functions.md"
DECISIONS = places.ROOT / "docs" / "adr" / "README.md"

PIN = re.compile(r"([\w-]+)[^#]*==\S+ # (.+)")
"""Pattern for a pinned package and its reason."""

_PACKAGE = places.ROOT / "shared" / "redpacket"
_SETTINGS_CLASSES = [
    _PACKAGE / "platform" / "settings.py",
    *sorted(_PACKAGE.glob("payments/providers/*/settings.py")),
]

_PAGE_OF_ALARM = " Runbook - docs/runbook/"
"""Separator between an alarm's description and its runbook page."""


def parameters() -> str:
    """Return one table per parameter group."""
    template = read_template()
    groups = template["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    lines = []
    for group in groups:
        lines += [
            f"### {group['Label']['default']}\n",
            "| Parameter | Default | Meaning |\n|---|---|---|",
        ]
        lines += [_row(name, template["Parameters"][name]) for name in group["Parameters"]]
        lines += [""]
    return "\n".join(lines)


def _row(name: str, parameter: dict[str, Any]) -> str:
    default = parameter.get("Default", "")
    shown = f"`{default}`" if default != "" else "empty"
    meaning = " ".join(parameter["Description"].split())
    if words := parameter.get("AllowedValues"):
        meaning += f" One of {', '.join(f'`{word}`' for word in words)}."
    elif "MinValue" in parameter:
        low, high = parameter["MinValue"], parameter.get("MaxValue")
        meaning += f" From {low:,} to {high:,}." if high is not None else f" At least {low:,}."
    return f"| `{name}` | {shown} | {meaning} |"


def alarms() -> str:
    """Return the alarm index, with each alarm's condition and runbook page."""
    lines = ["| Alarm | Fires when | Page |", "|---|---|---|"]
    for name, resource in read_template()["Resources"].items():
        if resource["Type"] == "AWS::CloudWatch::Alarm":
            when, page = resource["Properties"]["AlarmDescription"].split(_PAGE_OF_ALARM)
            title = (RUNBOOK.parent / page).read_text(encoding="utf-8").partition("\n")[0]
            lines += [f"| {name} | {when.rstrip('.')} | [{title.removeprefix('# ')}]({page}) |"]
    return "\n".join(lines) + "\n"


def settings() -> str:
    """Return a table of environment variables, with their functions and meanings."""
    template = read_template()
    common = template["Globals"]["Function"]["Environment"]["Variables"]
    variables = {
        name.removesuffix("Function").lower(): resource["Properties"]["Environment"]["Variables"]
        for name, resource in template["Resources"].items()
        if resource["Type"] == "AWS::Serverless::Function"
        and "Environment" in resource["Properties"]
    }
    lines = ["| Variable | Functions | Value |", "|---|---|---|"]
    for variable, meaning in _meanings().items():
        having = [name for name, names in variables.items() if variable in names]
        functions = "all" if variable in common else ", ".join(having) or "only local"
        lines += [f"| `{variable}` | {functions} | {meaning} |"]
    return "\n".join(lines) + "\n"


def _meanings() -> dict[str, str]:
    """Return the docstring of each variable in the settings classes, keyed by variable."""
    meanings: dict[str, str] = {}
    for file in _SETTINGS_CLASSES:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        classes = [each for each in tree.body if isinstance(each, ast.ClassDef)]
        for statements in (each.body for each in classes):
            for statement, following in itertools.pairwise([*statements, ast.Pass()]):
                match statement, following:
                    case (
                        ast.Assign(value=ast.Call(func=ast.Name("Variable"), args=[name, *_])),
                        ast.Expr(value=ast.Constant(value=str(meaning))),
                    ):
                        meanings.setdefault(ast.literal_eval(name), " ".join(meaning.split()))
    return meanings


def dependencies() -> str:
    """Return one table per requirements file, with the reason for each pin."""
    lines = []
    for file in sorted(places.ROOT.glob("*/*.in"), reverse=True):
        title, *pins = file.read_text(encoding="utf-8").splitlines()
        lines += [f"## `{file.relative_to(places.ROOT).as_posix()}`", "", title.removeprefix("# ")]
        lines += ["", "| Package | Why |", "|---|---|"]
        lines += [f"| {pin[1]} | {pin[2]} |" for pin in map(PIN.fullmatch, pins) if pin]
        lines += [""]
    return "\n".join(lines)


def decisions() -> str:
    """Return the index of decision records: number, title, date, and status."""
    lines = ["| Number | Decision | Date | Status |", "|---|---|---|---|"]
    for file in sorted(DECISIONS.parent.glob("0*.md")):
        title, _, status = file.read_text(encoding="utf-8").splitlines()[:3]
        number, _, title = title.removeprefix("# ").partition(" ")
        date, status = re.findall(r"(?:Date|Status): ([^.]+)\.", status)
        lines += [f"| [{number}]({file.name}) | {title} | {date} | {status} |"]
    return "\n".join(lines) + "\n"


def webhooks() -> str:
    """Return a table of the contract's events, with their meanings and the fields in `data`."""
    contract = json.loads((places.ROOT / "openapi.json").read_text(encoding="utf-8"))
    lines = ["| Type | Event | `data` |", "|---|---|---|"]
    for name, path in contract["webhooks"].items():
        content = path["post"]["requestBody"]["content"]["application/cloudevents+json"]
        schema = content["schema"]["properties"]["data"]["$ref"].rpartition("/")[2]
        fields = contract["components"]["schemas"][schema].get("properties", {})
        shown = ", ".join(f"`{field}`" for field in fields)
        lines += [f"| `{name}` | {path['post']['summary'].rstrip('.')} | {shown} |"]
    return "\n".join(lines) + "\n"


_READS = {"GetItem", "BatchGetItem", "Query", "ConditionCheckItem"}
_WRITES = {"PutItem", "UpdateItem", "DeleteItem"}


def functions() -> str:
    """Return a table of functions, with the layer and the permissions for tables and queues."""
    resources = read_template()["Resources"]
    lines = [
        "| Function | Layer | Reads | Writes | Receives | Sends |",
        "|---|---|---|---|---|---|",
    ]
    for name, resource in resources.items():
        if resource["Type"] != "AWS::Serverless::Function":
            continue
        given = resource["Properties"]
        rights = list(_rights(given.get("Policies", [])))

        def shown(actions: set[str], suffix: str, of: list[tuple[str, str]] = rights) -> str:
            having = {place for action, place in of if action in actions}
            return ", ".join(sorted(each.removesuffix(suffix) for each in having)) or "-"

        layers = [each.removesuffix("Layer") for each in ["SharedLayer", *given.get("Layers", [])]]
        cells = [
            name.removesuffix("Function"),
            ", ".join(layers),
            shown({f"dynamodb:{each}" for each in _READS}, "Table"),
            shown({f"dynamodb:{each}" for each in _WRITES}, "Table"),
            shown({"sqs:ReceiveMessage"}, "Queue"),
            shown({"sqs:SendMessage"}, "Queue"),
        ]
        lines += [f"| {' | '.join(cells)} |"]
    return "\n".join(lines) + "\n"


def _rights(policies: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - any part of a template
    """Yield each action with the logical name of each resource that it applies to."""
    if isinstance(policies, list):
        for each in policies:
            yield from _rights(each)
    elif isinstance(policies, dict) and "Action" in policies:
        for action in policies["Action"]:
            for place in re.findall(r"\b([A-Z]\w+)\.", json.dumps(policies["Resource"])):
                yield action, place
    elif isinstance(policies, dict):
        yield from _rights(policies.get("Statement", []))


TABLES = {
    FUNCTIONS: ("functions", functions),
    PARAMETERS: ("parameters", parameters),
    RUNBOOK: ("alarms", alarms),
    SETTINGS: ("settings", settings),
    DEPENDENCIES: ("dependencies", dependencies),
    WEBHOOKS: ("webhooks", webhooks),
    DECISIONS: ("decisions", decisions),
}
"""Marker and writer of the generated part, keyed by page."""


def filled(page: Path) -> str:
    """Return a page's text with current tables."""
    mark, table = TABLES[page]
    begin, end = f"<!-- {mark}:begin -->", f"<!-- {mark}:end -->"
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    return f"{before}{begin}\n{table()}{end}{rest.partition(end)[2]}"


def main() -> None:
    """Write the generated tables into the pages."""
    for page in TABLES:
        page.write_text(filled(page), encoding="utf-8")
        print(f"Wrote {page.relative_to(places.ROOT)}")


if __name__ == "__main__":
    main()
