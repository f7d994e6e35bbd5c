"""Declarations of route parameters: each has a check function and a schema for openapi.json."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

from redpacket.platform.errors import IdempotencyKeyMissing, InvalidRequest, invalid_cursor
from redpacket.platform.idempotency import hash_of_key

if TYPE_CHECKING:
    from redpacket.platform.http.request import HttpRequest

Place: TypeAlias = Literal["path", "query", "headers"]
T = TypeVar("T")
Missing = TypeVar("Missing")
Word = TypeVar("Word", bound=StrEnum)

KEY_LENGTH_MAX = 255
_DIGITS_MAX = 9
_REQUIRED = object()


@dataclass(frozen=True, slots=True)
class Parameter(Generic[T]):
    """Parameter of a route; *form* is the JSON schema of the strings that *check* accepts."""

    place: Place
    name: str
    form: Mapping[str, object]
    meaning: str
    check: Callable[[str], T]
    missing: Any

    @property
    def is_required(self) -> bool:
        """Whether a request without this parameter is rejected."""
        return self.missing is _REQUIRED

    def __call__(self, request: HttpRequest) -> T:
        """Return the checked value from the request. Raises the errors that *check* raises."""
        given: Mapping[str, str] = getattr(request, self.place)
        text = given.get(self.name.lower())
        if text is None and not self.is_required:
            missing: T = self.missing
            return missing
        return self.check(text or "")


def required(
    place: Place, name: str, **form: object
) -> Callable[[Callable[[str], T]], Parameter[T]]:
    """Declare a parameter by its check function, which receives "" if the value is missing."""

    def declare(check: Callable[[str], T]) -> Parameter[T]:
        return Parameter(place, name, form, check.__doc__ or "", check, _REQUIRED)

    return declare


def optional(
    place: Place, name: str, *, missing: Missing, **form: object
) -> Callable[[Callable[[str], T]], Parameter[T | Missing]]:
    """Declare a parameter by its check function; a missing value becomes *missing*."""

    def declare(check: Callable[[str], T]) -> Parameter[T | Missing]:
        return Parameter(place, name, form, check.__doc__ or "", check, missing)

    return declare


def integer(
    name: str, low: int, high: int, *, missing: Missing, meaning: str
) -> Parameter[int | Missing]:
    """Declare a query parameter that is an integer from *low* to *high*."""

    def check(text: str) -> int:
        is_one = text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX
        if not (is_one and low <= int(text) <= high):
            raise InvalidRequest.of(name, f"must be an integer from {low} to {high}")
        return int(text)

    form: dict[str, object] = {"type": "integer", "minimum": low, "maximum": high}
    if missing is not None:
        form["default"] = missing
    return Parameter("query", name, form, meaning, check, missing)


def path_id(
    name: str, pattern: str, refusal: Callable[[], Exception], meaning: str
) -> Parameter[str]:
    """Declare an id in the path; a value that does not match *pattern* raises *refusal*."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise refusal()
        return text

    return Parameter("path", name, _texts(pattern), meaning, check, _REQUIRED)


def matching(name: str, pattern: str, meaning: str) -> Parameter[str | None]:
    """Declare an optional query parameter that matches *pattern*."""
    return Parameter(
        "query", name, _texts(pattern), meaning, lambda text: of_form(name, pattern, text), None
    )


def choice(name: str, words: type[Word], meaning: str) -> Parameter[Word | None]:
    """Declare an optional query parameter that is one of *words*."""

    def check(text: str) -> Word:
        return words(of_form(name, "|".join(words), text))

    return Parameter("query", name, {"type": "string", "enum": list(words)}, meaning, check, None)


def of_form(name: str, pattern: str, text: str) -> str:
    """Return *text*. Raises InvalidRequest if it does not match *pattern*."""
    if not re.fullmatch(pattern, text):
        raise InvalidRequest.of(name, f"must match {pattern}")
    return text


def cursor(
    pattern: str | None = None, meaning: str = "`next` from the previous page."
) -> Parameter[str | None]:
    """Declare a cursor; without *pattern*, the list must cope with malformed cursors."""

    def check(text: str) -> str:
        if pattern is not None and not re.fullmatch(pattern, text):
            raise invalid_cursor()
        return text

    form = {"type": "string"} if pattern is None else _texts(pattern)
    return Parameter("query", "cursor", form, meaning, check, None)


def _texts(pattern: str) -> dict[str, object]:
    return {"type": "string", "pattern": f"^{pattern}$"}


@required("headers", "Idempotency-Key", type="string", minLength=1, maxLength=KEY_LENGTH_MAX)
def key_hash_of(key: str) -> str:
    """Key that the client generates.

    A retry with the same key and body has no second effect and returns the same response.
    """
    if not 1 <= len(key) <= KEY_LENGTH_MAX:
        raise IdempotencyKeyMissing
    return hash_of_key(key)
