"""One process of the system: all containers, with any member replaced."""

from typing import Any

from redpacket.containers import Containers

_BY_CONTAINER = ("packets", "campaigns", "ledger")
"""Containers whose `repository` tests call by the container's name."""


def _members() -> dict[str, tuple[str, str]]:
    """Map each member's name to its container; all names differ."""
    found: dict[str, tuple[str, str]] = {}
    for container in Containers.__annotations__:
        cls = type(getattr(Containers(), container))
        for name in vars(cls):
            flat = container if name == "repository" else name
            if not name.startswith("_"):
                assert flat not in found, flat
                found[flat] = (container, name)
    return found


MEMBERS = _members()


class Process:
    """All containers of a process. Members are read and replaced by their names."""

    def __init__(self, **given: object) -> None:
        unknown = given.keys() - MEMBERS.keys()
        if unknown:
            raise TypeError(f"no container builds {', '.join(sorted(unknown))}")
        containers = Containers()
        for container in {container for container, _ in MEMBERS.values()}:
            getattr(containers, container)
        vars(self)["containers"] = containers
        self.replace(**given)

    def replace(self, **given: object) -> None:
        """Replace members by fakes."""
        for name, made in given.items():
            container, member = MEMBERS[name]
            vars(getattr(vars(self)["containers"], container))[member] = made

    def __getattr__(self, name: str) -> Any:
        if name not in MEMBERS:
            raise AttributeError(name)
        container, member = MEMBERS[name]
        return getattr(getattr(vars(self)["containers"], container), member)

    def __setattr__(self, name: str, made: object) -> None:
        self.replace(**{name: made})
