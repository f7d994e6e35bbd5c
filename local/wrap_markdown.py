"""Formatter that wraps paragraphs and list items in English Markdown pages at 100 columns.

Tables, code, headings, HTML, and generated text keep their lines. Chinese pages are excluded,
because browsers show a line break between two Chinese characters as a space. The changelog is
excluded, because Git merges its entries line by line.
"""

import re
import sys
from collections.abc import Iterable, Iterator

from local import places

COLUMNS = 100

_PAGES = ("*.md", "docs/**/*.md", "events/*.md", "lua/*.md", "web/element/*.md")

_EXCLUDED = re.compile(r"CHANGELOG\.md|docs/performance\.md|.*\.zh-CN\.md|docs/zh/.*")
_FENCE = re.compile(r" *```")
_GENERATED = re.compile(r"<!-- [\w-]+:(begin|end) -->")
_ITEM = re.compile(r" *(?:[-*+]|\d+[.)]) +")
_KEPT = re.compile(r" *(?:$|[#|<>]|\[[^\]]+\]: |---$)")
"""Pattern for the start of a line that does not belong to a paragraph."""

_ATOM = re.compile(r"(?:(`+).+?\1(?!`)|\S)+")
"""Pattern for unbreakable text: a word, or a code span with adjacent characters."""

_MARKER = re.compile(r"[-+*#>|=<~]|\d+[.)]$")
"""Pattern for atoms that would start a different block at the beginning of a line."""


def wrapped(page: str) -> str:
    """Return a page with its paragraphs and list items wrapped."""
    return "".join(f"{line}\n" for line in _lines(page.splitlines()))


def _lines(lines: Iterable[str]) -> Iterator[str]:
    paragraph: list[str] = []
    indent, is_raw = 0, False
    for line in lines:
        if is_raw or _FENCE.match(line) or _GENERATED.match(line):
            yield from _paragraph(paragraph)
            paragraph = []
            yield line
            is_raw ^= bool(_FENCE.match(line) or _GENERATED.match(line))
        elif _KEPT.match(line):
            yield from _paragraph(paragraph)
            paragraph = []
            yield line
        elif item := _ITEM.match(line):
            yield from _paragraph(paragraph)
            paragraph, indent = [line], len(item[0])
        elif paragraph:
            paragraph.append(line)
        else:
            own = len(line) - len(line.lstrip())
            indent = min(indent, own)
            if own - indent >= len("    "):
                yield line
            else:
                paragraph = [line]
    yield from _paragraph(paragraph)


def _paragraph(lines: list[str]) -> Iterator[str]:
    """Yield the lines of one paragraph or list item, wrapped unless a line ends in a hard break."""
    if any(line.endswith(("  ", "\\")) for line in lines):
        yield from lines
        return
    text = " ".join(lines)
    item = _ITEM.match(text)
    start = item[0] if item else " " * (len(text) - len(text.lstrip()))
    line = start
    for atom in _atoms(text[len(start) :]):
        if len(line) + len(atom) > COLUMNS and line.strip() and line != start:
            yield line.rstrip()
            line = " " * len(start)
        line += f"{atom} "
    if line.strip():
        yield line.rstrip()


def _atoms(text: str) -> list[str]:
    atoms: list[str] = []
    for match in _ATOM.finditer(text):
        if atoms and _MARKER.match(match[0]):
            atoms[-1] += f" {match[0]}"
        else:
            atoms.append(match[0])
    return atoms


def main() -> int:
    """Wrap the pages; with `--check`, list pages that need wrapping, and fail if any do."""
    found = (page for pattern in _PAGES for page in places.ROOT.glob(pattern))
    pages = (
        page for page in found if not _EXCLUDED.fullmatch(page.relative_to(places.ROOT).as_posix())
    )
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    changed = {page: new for page, text in texts.items() if (new := wrapped(text)) != text}
    if "--check" in sys.argv:
        for page in changed:
            print(f"{page.relative_to(places.ROOT)} is not wrapped; run `make format`")
        return bool(changed)
    for page, text in changed.items():
        page.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
