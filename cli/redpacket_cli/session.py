"""Context of a command: a stack and a screen."""

import re
import uuid
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import typer

from redpacket_cli.failures import no_target
from redpacket_cli.show import Screen
from redpacket_cli.target import Target

# Characters of an id. They are safe in a path, so an id can't change a command's route.
_ID = re.compile(r"[A-Za-z0-9_~.-]{1,128}")


@dataclass
class Session:
    """Stack and screen of one command."""

    target: Target
    screen: Screen


def session_of(context: typer.Context) -> Session:
    """Return the session of a command."""
    session = context.obj
    assert isinstance(session, Session)
    return session


def new_key(given: str) -> str:
    """Return the given idempotency key, or a new one."""
    return given or uuid.uuid4().hex


def an_id(text: str) -> str:
    """Return *text* if it is an id that is safe in a path. Raises typer.BadParameter."""
    if not _ID.fullmatch(text) or set(text) <= {"."}:
        raise typer.BadParameter(
            f"{text!r} can't be an id: use up to 128 letters, digits and any of _ ~ . -"
        )
    return text


def read_document(path: Path) -> dict[str, Any]:
    """Read a mapping from a YAML or JSON file; "-" is standard input. Raises Failure."""
    import yaml

    text = read_text(path)
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise no_target(f"{path} is neither YAML nor JSON: {error}") from None
    if not isinstance(document, dict):
        raise no_target(f"{path} is not a mapping: write lines like `title: Spring`")
    return document


def read_text(path: Path) -> str:
    """Read a file; "-" is standard input. Raises Failure."""
    try:
        return (
            typer.get_text_stream("stdin").read() if str(path) == "-" else path.read_text("utf-8")
        )
    except (OSError, UnicodeDecodeError) as error:
        raise no_target(
            f"{path} can't be read: {error}. Name a UTF-8 file, or - for standard input"
        ) from None


def milliseconds(name: str, given: object) -> int:
    """Convert a time with a zone to milliseconds. Error messages name the field *name*."""
    try:
        at = given if isinstance(given, datetime) else datetime.fromisoformat(str(given))
    except ValueError:
        raise no_target(f"{name} is not a time: {given}. Write 2027-01-29T20:00:00+08:00") from None
    if at.tzinfo is None:
        raise no_target(f"{name} needs a zone, like 2027-01-29T20:00:00+08:00")
    return int(at.timestamp() * 1000)
