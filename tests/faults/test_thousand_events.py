"""Events to receivers that fail: a smaller run of `make faults OF=webhooks`."""

from tests.faults.thousand_events import figures_of

COUNT = 200


def test_no_event_is_lost_and_repeats_keep_their_id_and_the_control_loses_some() -> None:
    figures, wrong = figures_of(COUNT, seed=7)

    assert wrong == []
    assert figures["claims"] == COUNT
    assert (figures["lost"], figures["changed_repeats"], figures["dead"]) == (0, 0, 0)
    assert figures["repeated"] > 0
    # The working receiver had all events while the other one was still down.
    assert figures["live_late"] == 0
    assert figures["naive_lost"] > 0
