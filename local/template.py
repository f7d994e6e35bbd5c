"""Reader of template.yaml; it replaces short forms (such as !Ref) with arguments or long forms."""

from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from local import places

TEMPLATE = places.ROOT / "template.yaml"

_Constructor: TypeAlias = yaml.constructor.SafeConstructor


class _Short(yaml.CSafeLoader):
    """YAML loader that replaces a short form with its argument."""


class _Long(yaml.CSafeLoader):
    """YAML loader that replaces a short form with its long form."""


def read_template(path: Path = TEMPLATE) -> dict[str, Any]:
    """Return a template with each short form replaced by its argument."""
    return deepcopy(_loaded(path.read_text(encoding="utf-8"), _Short))


def read_long_form(path: Path = TEMPLATE) -> dict[str, Any]:
    """Return a template in its long form, as CloudFormation reads templates."""
    return deepcopy(_loaded(path.read_text(encoding="utf-8"), _Long))


@cache
def _loaded(text: str, loader: type[_Short | _Long]) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.load(text, loader)  # noqa: S506 - a SafeLoader
    return loaded


def _value(constructor: _Constructor, _name: str, node: yaml.Node) -> Any:  # noqa: ANN401 - of YAML
    if isinstance(node, yaml.MappingNode):
        return constructor.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return constructor.construct_sequence(node, deep=True)
    assert isinstance(node, yaml.ScalarNode)
    return constructor.construct_scalar(node)


def _spelled_out(constructor: _Constructor, name: str, node: yaml.Node) -> dict[str, Any]:
    value = _value(constructor, name, node)
    if name == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {name if name in {"Ref", "Condition"} else f"Fn::{name}": value}


_Short.add_multi_constructor("!", _value)
_Long.add_multi_constructor("!", _spelled_out)
