"""Offline verifier: a packet's amounts or a day's draws must match their commitment.

PYTHONPATH=shared python3 -m redpacket.verify PROOF_FILE [FILE...]

The command needs Python 3.11, but no server and no third-party package. Each file contains one API
response. For a packet, the first file is `GET /packets/{packet_id}/proof`; the others are further
proof pages, record pages, or the response to `POST /packets`. For a lottery day, the first file is
`GET /campaigns/{campaign_id}/proof?day=20270129`; the others are pages of
`GET /campaigns/{campaign_id}/draws`, and `GET /campaigns/{campaign_id}`. A user's draws on a day
are numbered 1, 2, 3, ...: pass all pages, and the user's token with --user. If the first argument
is `log`, the command verifies the public log of commitments (`verify/log.py`). The exit code is 0
if nothing differs, 1 if something differs, 2 if a file can't be read, and for the log, 3 if nothing
differs but something was not checked.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from redpacket.verify.days import day_of
from redpacket.verify.draws import draws_compared, verify_draws
from redpacket.verify.files import Unreadable, read
from redpacket.verify.findings import SHOWN_MAX, Findings
from redpacket.verify.log import arguments_of, verify_log
from redpacket.verify.packets import amounts_compared, terms_of, verify_packet

TRUE, FALSE, UNREADABLE, UNCHECKED = 0, 1, 2, 3
"""The exit codes."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify the files that *arguments* name; return the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["log"]:
        return _verify_log(arguments[1:])
    parser = argparse.ArgumentParser(
        prog="redpacket.verify", description=__doc__.partition("\n")[0]
    )
    parser.add_argument(
        "proof", type=Path, help="response to GET /packets/{packet_id}/proof, or a campaign's proof"
    )
    parser.add_argument(
        "more",
        type=Path,
        nargs="*",
        help="further proof pages, record pages, the response to POST /packets, or pages of draws",
    )
    parser.add_argument("--commitment", help="commitment that you noted earlier")
    parser.add_argument("--user", help="your user_token, as GET /me shows it")
    options = parser.parse_args(arguments)
    try:
        documents = [(str(path), read(path)) for path in (options.proof, *options.more)]
        proof = documents[0][1]
        if "day" in proof:
            day = day_of(proof)
            findings = verify_draws(day, documents, options.commitment, options.user)
            compared = draws_compared(day, findings)
        else:
            terms = terms_of(proof)
            findings = verify_packet(terms, documents, options.commitment)
            compared = amounts_compared(terms, findings)
    except Unreadable as error:
        return _unreadable(error)
    return _verdict(compared, findings)


def _verify_log(arguments: Sequence[str]) -> int:
    options = arguments_of(arguments)
    try:
        documents = [(str(path), read(path)) for path in options.files]
        checked = verify_log(documents, options.id, options.commitment, options.key_id)
    except Unreadable as error:
        return _unreadable(error)
    return _verdict(checked.lines, checked)


def _unreadable(error: Unreadable) -> int:
    print(f"UNREADABLE: {_escaped(str(error))}", file=sys.stderr)
    return UNREADABLE


def _verdict(compared: Sequence[str], findings: Findings) -> int:
    """Print the findings, and return the exit code."""
    for line in compared:
        print(_escaped(line))
    for difference in findings.differences[:SHOWN_MAX]:
        print(f"WRONG       {_escaped(difference)}")
    count = len(findings.differences)
    if count > SHOWN_MAX:
        print(f"WRONG       and {count - SHOWN_MAX} more")
    if count:
        print(f"NOT VERIFIED, differences: {count}")
        return FALSE
    if findings.unchecked_count:
        print(f"NOT ALL CHECKED, left: {findings.unchecked_count}")
        return UNCHECKED
    print("VERIFIED")
    return TRUE


def _escaped(text: str) -> str:
    """Escape characters in a server's text that could hide the result on a terminal."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )
