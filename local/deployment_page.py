"""Writes the parameters of template.yaml, by its own groups, into docs/reference/parameters.md."""

from typing import Any

from local import places
from local.template import read_template

PAGE = places.ROOT / "docs" / "reference" / "parameters.md"
BEGIN, END = "<!-- parameters:begin -->", "<!-- parameters:end -->"


def table() -> str:
    """Return one table for each group of parameters."""
    template = read_template()
    groups = template["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    parts = []
    for group in groups:
        parts += [
            f"### {group['Label']['default']}\n",
            "| Parameter | Default | Meaning |\n|---|---|---|",
        ]
        parts += [_row(name, template["Parameters"][name]) for name in group["Parameters"]]
        parts += [""]
    return "\n".join(parts)


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


def page() -> str:
    """Return the page with the tables of today's template."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n{table()}{END}{after}"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    print(f"Wrote {PAGE.relative_to(places.ROOT)}")


if __name__ == "__main__":
    main()
