"""Objects that are built on first use."""

import pytest

from redpacket.platform.runtime import deferred


def test_nothing_is_built_until_a_method_is_read() -> None:
    built: list[list[str]] = []

    def build() -> list[str]:
        built.append([])
        return built[-1]

    messages = deferred(build)
    assert not built

    messages.append("a")
    messages.append("b")

    assert built == [["a", "b"]]


def test_an_error_while_building_is_not_kept() -> None:
    errors, messages = [ZeroDivisionError()], ["first"]

    def build() -> list[str]:
        if errors:
            raise errors.pop()
        return messages

    queue = deferred(build)
    with pytest.raises(ZeroDivisionError):
        queue.append("lost")

    queue.append("kept")

    assert messages == ["first", "kept"]
