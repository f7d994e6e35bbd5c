"""One process of the system: all containers, with any member replaced."""

from collections import defaultdict
from collections.abc import Callable
from functools import cache, cached_property, partial
from importlib import import_module
from inspect import signature
from pkgutil import walk_packages
from typing import Any

import redpacket
from redpacket.containers import Containers

_BY_CONTAINER = ("packets", "campaigns")
"""Containers whose `repository` tests call by the container's name."""


def _members() -> dict[str, tuple[str, str]]:
    """Map each member's name to its container; all names differ."""
    members: dict[str, tuple[str, str]] = {}
    for container in Containers.__annotations__:
        cls = type(getattr(Containers(), container))
        for name in vars(cls):
            flat = container if name == "repository" else name
            if not name.startswith("_"):
                assert flat not in members, flat
                members[flat] = (container, name)
    return members


MEMBERS = _members()


@cache
def _use_cases() -> dict[str, Callable[..., Any]]:
    """Map the names of all use cases to their functions."""
    use_cases: dict[str, Callable[..., Any]] = {}
    for module in walk_packages(redpacket.__path__, "redpacket."):
        if ".use_cases." in module.name:
            public = vars(import_module(module.name)).items()
            use_cases |= {
                name: made
                for name, made in public
                if getattr(made, "__module__", "") == module.name and not name.startswith("_")
            }
    return use_cases


@cache
def _members_by_type() -> dict[str, list[str]]:
    """Map the name of a type to the names of the members that are of it."""
    names: dict[str, list[str]] = defaultdict(list)
    for flat, (container, name) in MEMBERS.items():
        made = vars(type(getattr(Containers(), container)))[name]
        if isinstance(made, cached_property):
            returned = made.func.__annotations__["return"]
            names[str(getattr(returned, "__name__", returned)).rpartition(".")[2]].append(flat)
    return dict(names)


@cache
def _ports_of(use_case: Callable[..., Any]) -> dict[str, str]:
    """Map the keyword parameters of a use case to the members of their types or names.

    A parameter is left to the caller if several members are of its type and none has its name.
    """
    found: dict[str, str] = {}
    for each in signature(use_case).parameters.values():
        typed = _members_by_type().get(each.annotation, [each.name])
        member = typed[0] if len(typed) == 1 else each.name
        if each.kind is each.KEYWORD_ONLY and member in typed and member in MEMBERS:
            found[each.name] = member
    return found


class Process:
    """Containers of a process, and use cases with their ports, by name."""

    def __init__(self, **given: object) -> None:
        unknown = given.keys() - MEMBERS.keys()
        if unknown:
            raise TypeError(f"no container builds {', '.join(sorted(unknown))}")
        vars(self)["containers"] = Containers()
        self.replace(**given)

    def replace(self, **given: object) -> None:
        """Replace members by fakes."""
        for name, made in given.items():
            container, member = MEMBERS[name]
            vars(getattr(vars(self)["containers"], container))[member] = made

    def __getattr__(self, name: str) -> Any:
        if name in _use_cases() and name not in MEMBERS:
            return self._with_ports(_use_cases()[name])
        if name not in MEMBERS:
            raise AttributeError(name)
        container, member = MEMBERS[name]
        return getattr(getattr(vars(self)["containers"], container), member)

    def _with_ports(self, use_case: Callable[..., Any]) -> Callable[..., Any]:
        """Return a use case with keyword parameters from members of their types or names."""
        bound = {name: getattr(self, member) for name, member in _ports_of(use_case).items()}
        return partial(use_case, **bound)

    def __setattr__(self, name: str, made: object) -> None:
        self.replace(**{name: made})
