"""Sweeps that get on: turns, places, and lists whose head moves (docs/adr/0023)."""

from __future__ import annotations

from tests.faults.mutants.mutant import (
    Mutant,
    of_draws,
)

MUTANTS = [
    Mutant(
        "a large packet has the time of all others",
        "Closing._refund",
        "if self._ports.is_over() or (refunded and self._is_turn_over()):",
        "if self._ports.is_over():",
    ),
    Mutant(
        "in parts: the turn of a packet ends with its last part",
        "Closing.go_on",
        "                if self._is_turn_over():\n",
        "                if False:\n",
    ),
    Mutant(
        "a turn that is too short gets nowhere",
        "Closing._refund",
        "if self._ports.is_over() or (refunded and self._is_turn_over()):",
        "if self._ports.is_over() or self._is_turn_over():",
    ),
    Mutant(
        "a turn starts over instead of going on",
        "Closing._keep_place",
        "closing_no=refunded[-1].share_no)",
        "closing_no=0)",
    ),
    Mutant(
        "in parts: the place in a part holds for the next one",
        "Closing.go_on",
        "closing_step=step, closing_no=0)",
        "closing_step=step)",
    ),
    Mutant(
        "the place in a part is lost with the sweep",
        "DynamoPackets.mark_step",
        "            share_no=packet.closing_no,\n",
        "            share_no=0,\n",
    ),
    Mutant(
        "fates are read until the end of a part, however long that takes",
        "Closing._read",
        "if len(fates) % _FATES_PER_LOOK == 0 and self._ports.is_over():",
        "if False:",
    ),
    Mutant(
        "packets that are not finished wait for the next sweep",
        "expire_packets",
        "one.packet for one, progress in turns.results if progress is Progress.UNFINISHED",
        "one.packet for one, progress in turns.results[:0]",
    ),
    Mutant(
        "large packets come before small ones",
        "expire_packets:_place",
        "return not is_late, sum(",
        "return not is_late, -sum(",
    ),
    Mutant(
        "a large packet waits as long as small ones come",
        "expire_packets:_place",
        "return not is_late, sum(",
        "return True, sum(",
    ),
    Mutant(
        "refunds leave no time for lost claims",
        "sweep:sweep",
        "stop_at_ms=stop_at_ms - REPAIR_MS,",
        "stop_at_ms=stop_at_ms,",
    ),
    Mutant(
        "a packet that can't be read stays at the head of the due ones",
        "_begin_close",
        "        work.delay(packet_id, ports.clock.now_ms())\n",
        "",
    ),
    Mutant(
        "a packet that can't be read stays at the head of those to load",
        "_find",
        "        work.delay(packet_id, clock.now_ms())\n",
        "",
    ),
    Mutant(
        "a delayed packet comes before its time",
        "COMES_BEFORE",
        'COMES_BEFORE = "work_at_ms < :until_ms"',
        'COMES_BEFORE = "attribute_exists(work_pk)"',
    ),
    Mutant(
        "a packet that no cache takes is not made due",
        "load_packets.load",
        "        finally:\n            packets.mark_loaded(packet)\n",
        "        except Unavailable:\n            raise\n        else:\n"
        "            packets.mark_loaded(packet)\n",
    ),
    Mutant(
        "a thief's rows stay at the head of the claims",
        "requeue_claims.requeue",
        "REQUEUE_PAUSE_MS_MAX)\n            msg",
        "0)\n            msg",
    ),
    Mutant(
        "shares that can't be read stay at the head of the claims",
        "requeue_claims.requeue",
        "REQUEUE_PAUSE_MS_MAX)\n            raise",
        "0)\n            raise",
    ),
    Mutant(
        "a settled claim that somebody put back to work stays there",
        "_requeue",
        "            packets.mark_done(share)\n",
        "            pass\n",
    ),
    Mutant(
        "a prize of any size is one part",
        "edit_prize:_packet_of",
        "ports.new_id(parts_for(count, UNITS_PER_PART))",
        "ports.new_id(1)",
    ),
    of_draws(
        "won units of one partition count",
        "UnitStock._cash",
        "for partition in range(fate_partitions(packet_id)):",
        "for partition in range(1):",
    ),
    of_draws(
        "a free unit below a place stays free for ever",
        "UnitStock._read",
        "            fates |= self._look_again(runs[0].table, noted.free, key_of)\n",
        "            pass\n",
    ),
    of_draws(
        "a place is where the partition that is furthest is",
        "UnitStock._read",
        "known_to = min(known_to or UNITS_MAX, max(found))",
        "known_to = max(known_to or 0, max(found))",
    ),
    of_draws(
        "a count that has read as much as one call may goes on",
        "UnitStock._read",
        "        if self._left <= 0:\n",
        "        if False:\n",
    ),
    of_draws(
        "units that were not read count as free",
        "UnitStock._read",
        "        if known_to is not None:\n            raise Unavailable(_COUNTING)\n",
        "",
    ),
    of_draws(
        "an older place replaces a later one",
        "IS_BEHIND",
        'IS_BEHIND = "attribute_not_exists(pk) OR until_no < :until_no"',
        'IS_BEHIND = "attribute_not_exists(nothing) OR until_no < :until_no"',
    ),
]
