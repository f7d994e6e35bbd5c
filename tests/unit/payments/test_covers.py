"""Uploaded covers of packets that a payment funds."""

import pytest

from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.packets.model.picture import picture_of
from redpacket.payments.model.payments import PAYMENT_LIFE_MS
from redpacket.platform.errors import Unavailable
from testing.payments.payment_system import PaymentSystem
from testing.pictures import jpeg

PICTURE = "p" * 22


@pytest.fixture
def town() -> PaymentSystem:
    town = PaymentSystem()
    town.system.pictures.put(PICTURE, picture_of(jpeg()), "sender")
    return town


def _send(town: PaymentSystem) -> Packet:
    url = f"https://share.example/pictures/{PICTURE}"
    return town.send_unpaid(count=1, cover_url=url, own_picture_id=PICTURE)


def test_an_unpaid_packet_keeps_no_cover(town: PaymentSystem) -> None:
    packet = _send(town)
    town.start_packet(packet)

    town.sweep_after(PAYMENT_LIFE_MS + 1)
    town.system.sweep()

    assert town.system.stored(packet).status is PacketStatus.CANCELLED
    assert town.system.pictures.kept == set()


def test_a_packet_keeps_its_cover_from_its_payment_on(town: PaymentSystem) -> None:
    packet = _send(town)
    assert town.system.pictures.kept == set()

    town.pay_packet(packet)

    assert town.system.pictures.kept == {PICTURE}


def test_a_cover_that_a_payment_failed_to_keep_is_kept_later(
    town: PaymentSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(_: str) -> None:
        raise Unavailable("the bucket of pictures")

    packet = _send(town)
    with monkeypatch.context() as outage:
        outage.setattr(town.system.pictures, "keep", down)
        town.pay_packet(packet)
    assert (town.system.stored(packet).status, town.system.pictures.kept) == ("open", set())

    town.system.pass_time(61_000)
    town.system.sweep()

    assert town.system.pictures.kept == {PICTURE}
