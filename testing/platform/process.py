"""A process with all containers, in which any member can be replaced."""

from collections import defaultdict
from collections.abc import Callable
from functools import cache, cached_property, partial
from importlib import import_module
from inspect import Parameter, signature
from pkgutil import walk_packages
from typing import Any

import redpacket
from redpacket.containers import Containers


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
def _public() -> dict[str, list[Any]]:
    """Map names to their definitions in the modules of use cases and ports."""
    public = defaultdict(list)
    for module in walk_packages(redpacket.__path__, "redpacket."):
        if ".use_cases." in module.name or module.name.endswith((".ports", ".runtime")):
            for name, made in vars(import_module(module.name)).items():
                if getattr(made, "__module__", "") == module.name and not name.startswith("_"):
                    public[name].append(made)
    return public


def _type_name(annotation: Any) -> str:
    return str(getattr(annotation, "__name__", annotation)).rpartition(".")[2]


@cache
def _members_by_type() -> dict[str, list[str]]:
    """Map the name of a type to the names of the container members that have this type."""
    names = defaultdict(list)
    for flat, (container, name) in MEMBERS.items():
        made = vars(type(getattr(Containers(), container)))[name]
        if isinstance(made, cached_property):
            returned = made.func.__annotations__["return"]
            names[_type_name(returned)].append(flat)
    return names


def _member_for(port: Parameter) -> str | None:
    """Return the member for a parameter: the only one of the same type, or the one with the same
    name. Raises TypeError if several members have the type and none has the name.
    """
    of_type = _members_by_type().get(_type_name(port.annotation), [])
    if len(of_type) == 1:
        return of_type[0]
    if port.name in (of_type or MEMBERS):
        return port.name
    if of_type:
        raise TypeError(f"{port} is one of {', '.join(of_type)}: give it")
    return None


def _check_type(port: Parameter, made: object) -> None:
    """Raise TypeError if *made* lacks methods of the parameter's port."""
    for port_type in _public().get(_type_name(port.annotation), []):
        missing = [name for name in vars(port_type) if name[0] != "_" and not hasattr(made, name)]
        if missing:
            raise TypeError(f"{made} is not {port}: it has no {', '.join(missing)}")


class Process:
    """Containers of a process. Attributes are container members, and use cases with their ports."""

    def __init__(self, **given: object) -> None:
        unknown = given.keys() - MEMBERS.keys()
        if unknown:
            raise TypeError(f"no container builds {', '.join(sorted(unknown))}")
        vars(self)["containers"] = Containers()
        self.replace(**given)

    def replace(self, **given: object) -> None:
        """Replace members with fakes."""
        for name, made in given.items():
            container, member = MEMBERS[name]
            vars(getattr(vars(self)["containers"], container))[member] = made

    def __getattr__(self, name: str) -> Any:
        if name in MEMBERS:
            container, member = MEMBERS[name]
            return getattr(getattr(vars(self)["containers"], container), member)
        if name not in _public():
            raise AttributeError(name)
        (use_case,) = _public()[name]
        return partial(self._call, use_case)

    def _call(self, use_case: Callable[..., Any], *args: object, **given: object) -> Any:
        """Call a use case; ports that are not *given* are members with the port's type or name."""
        for port in signature(use_case).parameters.values():
            if port.kind is port.KEYWORD_ONLY and port.name not in given:
                member = _member_for(port)
                if member:
                    given[port.name] = made = getattr(self, member)
                    _check_type(port, made)
        return use_case(*args, **given)

    def __setattr__(self, name: str, made: object) -> None:
        self.replace(**{name: made})
