"""Group chat packets: from the simulated platforms over HTTP to the ledger, and back."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from local.client import NO_TLS, Client
from local.stack import Stack
from local.welcome import ADMIN_SCOPE, open_chats
from tests.integration.conftest import Eventually
from tests.integration.declared import assert_declared

AMOUNT = re.compile(r"¥(\d+)\.(\d\d)")
PLATFORMS = ("telegram", "lark")


class Group:
    """Group chat of one simulated platform."""

    def __init__(self, name: str, web: httpx.Client, eventually: Eventually) -> None:
        self.name, self._web, self._eventually = name, web, eventually

    @property
    def state(self) -> Any:
        """State that the platform's page shows, such as chats and answers to members."""
        return self._web.get("/_fake/state").json()[self.name]

    def message(self, place: str, number: int) -> Any:
        """Return the message at index *number* in a chat, or None."""
        return next(iter(self.state["chats"][place]["messages"][number:][:1]), None)

    def send(self, text: str) -> str:
        """Send a command to the group as a member, and return the id of the packet's card."""
        mention = f"@{self.state['bot']} " if self.name == "lark" else ""
        count = len(self.state["chats"]["group"]["messages"])
        self._act("write", "ming", text=f"{mention}{text}")
        card = self._eventually(lambda: self.message("group", count + 1))
        return str(card["id"])

    def write_alone(self, member: str) -> str:
        """Write to the bot privately as *member*, and return the message's id."""
        self._act("write", member, text="hi", place="private")
        return str(self._eventually(lambda: self.message(member, 0))["id"])

    def tap(self, member: str, message: str, **more: str) -> str:
        """Tap a message's button as *member*, and return the answer that only the member sees."""
        count = len(self.state["toasts"].get(member, []))
        self._act("tap", member, message=message, **more)
        shown = self._eventually(lambda: self.state["toasts"].get(member, [])[count:])
        return str(shown[0]["text"])

    def card(self, message: str) -> Any:
        """Return the group's message with the id *message*."""
        messages = self.state["chats"]["group"]["messages"]
        return next(each for each in messages if each["id"] == message)

    def _act(self, path: str, member: str, **body: str) -> None:
        told = {"platform": self.name, "member": member, "place": "group", **body}
        self._web.post(f"/_fake/{path}", json=told).raise_for_status()


@pytest.fixture(scope="module")
def web(stack: Stack) -> Iterator[httpx.Client]:
    """Admit the groups, and yield a client for the simulated platforms."""
    with Client(stack.api, stack.token("treasurer", scope=ADMIN_SCOPE)) as treasurer:
        open_chats(treasurer)
    with httpx.Client(base_url=stack.chat, timeout=30, trust_env=False, verify=NO_TLS) as client:
        yield client


def _fen(text: str) -> list[int]:
    return [int(yuan) * 100 + int(fen) for yuan, fen in AMOUNT.findall(text)]


@pytest.mark.parametrize("name", PLATFORMS)
def test_a_group_shares_one_packet_with_one_share_each_and_its_card_ends_with_the_list(
    name: str, web: httpx.Client, eventually: Eventually
) -> None:
    group = Group(name, web, eventually)

    card = group.send("/hongbao 6.66 3 恭喜发财")
    (button,) = group.card(card)["buttons"]
    foreign = group.tap(
        "ann", group.write_alone("ann"), place="private", data=button["callback_data"]
    )
    taken = {member: _fen(group.tap(member, card))[0] for member in ("ming", "ann", "bob")}
    (again,) = _fen(group.tap("ann", card))
    eventually(lambda: "Ann" in str(group.card(card)["runs"]))

    # The private chat is not admitted, but Ann still gets her share in the group.
    assert _fen(foreign) == []
    assert sum(taken.values()) == 666
    assert again == taken["ann"]
    assert group.card(card)["buttons"] == []
    words = "".join(text for text, _ in group.card(card)["runs"])
    assert sorted(_fen(words)) == sorted(taken.values())


@pytest.mark.parametrize("name", PLATFORMS)
def test_a_call_without_the_signature_of_the_platform_is_refused(name: str, stack: Stack) -> None:
    answer = httpx.post(
        f"{stack.api}/chat/{name}", json={"message": {}}, trust_env=False, verify=NO_TLS
    )

    assert (answer.status_code, answer.json()["code"]) == (401, "signature_invalid")
    assert_declared(answer)
