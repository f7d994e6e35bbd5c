"""Repository of thanks in QuotasTable, because grab functions must not write packets.

One row has the marks (emoji) of up to 800 shares, and another has the texts of up to 100 shares.
A row of texts is read only if a mark announces a text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from redpacket.packets.dynamodb import keys
from redpacket.packets.model.claim import ShareRef
from redpacket.packets.model.thanks import Thanks
from redpacket.platform.dynamodb.client import Dynamo

_HAS_TEXT = "+"
"""Suffix of marks whose thanks have a text."""

_REMOVED = ""
"""Text that replaces a removed text, so that a repeated request cannot store it again."""


class DynamoThanks:
    """Repository of thanks for shares. A stored mark never changes."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._table = dynamo.tables.quotas

    def put(self, ref: ShareRef, thanks: Thanks) -> Thanks:
        """Store thanks for a share unless the share already has thanks; return the stored thanks.

        The mark is written before the text, so a retry completes an interrupted request.
        """
        mark = f"{thanks.emoji or ''}{_HAS_TEXT if thanks.text else ''}"
        stored = self._put_once(keys.thanks, ref, mark)
        if stored != mark or not thanks.text:
            return _thanks_of(stored, _REMOVED)
        return Thanks(thanks.emoji, self._put_once(keys.thanks_text, ref, thanks.text))

    def has(self, ref: ShareRef) -> bool:
        """Return whether a share has thanks."""
        row = self._dynamo.get(self._table, keys.thanks(ref.packet_id, ref.share_no))
        return bool(row and _name(ref) in row)

    def find(
        self, refs: Collection[ShareRef], *, is_strong: bool = False
    ) -> dict[ShareRef, Thanks]:
        """Return the existing thanks for these shares."""
        marks = self._read(keys.thanks, refs, is_strong=is_strong)
        announced = [ref for ref, mark in marks.items() if mark.endswith(_HAS_TEXT)]
        texts = self._read(keys.thanks_text, announced, is_strong=is_strong)
        return {ref: _thanks_of(mark, texts.get(ref, _REMOVED)) for ref, mark in marks.items()}

    def remove_texts(self, refs: Collection[ShareRef]) -> None:
        """Remove the texts, but not the marks, of these shares' thanks. Calls may be repeated."""
        for ref, thanks in self.find(refs, is_strong=True).items():
            if thanks.text is not None:
                key, name = keys.thanks_text(ref.packet_id, ref.share_no), _name(ref)
                self._dynamo.update(self._table, key, f"SET {name} = :none", none=_REMOVED)

    def _put_once(self, key_of: _KeyOf, ref: ShareRef, value: str) -> str:
        """Store *value* unless a value exists, and return the stored value."""
        name, key = _name(ref), key_of(ref.packet_id, ref.share_no)
        is_absent = f"attribute_not_exists({name})"
        if self._dynamo.update(
            self._table, key, f"SET {name} = :value", condition=is_absent, value=value
        ):
            return value
        row = self._dynamo.get(self._table, key)
        assert row  # No write removes thanks.
        return str(row[name])

    def _read(
        self, key_of: _KeyOf, refs: Collection[ShareRef], *, is_strong: bool
    ) -> dict[ShareRef, str]:
        wanted = {ref: key_of(ref.packet_id, ref.share_no)["pk"] for ref in refs}
        row_keys = [{"pk": pk} for pk in dict.fromkeys(wanted.values())]
        rows = self._dynamo.get_many(self._table, row_keys, is_strong=is_strong)
        by_key = {row["pk"]: row for row in rows}
        stored = {ref: by_key.get(pk, {}).get(_name(ref)) for ref, pk in wanted.items()}
        return {ref: str(value) for ref, value in stored.items() if value is not None}


_KeyOf = Callable[[str, int], dict[str, str]]


def _name(ref: ShareRef) -> str:
    """Return the name of a share's attribute in rows of thanks."""
    return f"share_{ref.share_no}"


def _thanks_of(mark: str, text: str) -> Thanks:
    has_text = mark.endswith(_HAS_TEXT)
    return Thanks(mark.removesuffix(_HAS_TEXT) or None, text if has_text else None)
