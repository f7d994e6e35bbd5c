"""Events out: who is told of what, and that none is lost."""

from __future__ import annotations

from tests.faults.mutants.mutant import Mutant

MUTANTS = [
    Mutant(
        "of two edits of a webhook at once both win",
        "HAS_VERSION_AS_SEEN",
        "webhook_version = :seen_version",
        "attribute_exists(pk)",
    ),
    Mutant(
        "failures that began together pause a receiver at once",
        "HAS_FAILED_AS_OFTEN",
        "failure_count = :seen_count",
        "attribute_exists(pk)",
    ),
    Mutant(
        "a delivery that failed is forgotten",
        "deliver:_attempt",
        "    ports.waiting.put(put_off)\n",
        "",
    ),
    Mutant(
        "a stream that is read twice makes two events",
        "Event.event_id",
        "self.subject, place]",
        "self.subject, place, id(self)]",
    ),
    Mutant(
        "an address of NAT64 leads inside",
        "_is_global",
        "or any(read in network for network in _TRANSLATED)",
        "",
    ),
    Mutant(
        "an event names a user before it is known who they are",
        "person_delay_s",
        "return 2 if age_ms < _PERSON_SOON_MS else 60",
        "return 0",
    ),
    Mutant(
        "an event may be of a time that can't be told",
        "Event.__post_init__",
        "if not 0 <= self.at_ms < _AT_MS_END:",
        "if self.at_ms < 0:",
    ),
]
