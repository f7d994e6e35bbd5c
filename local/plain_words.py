"""Finds hard words in prose and names plainer ones. `make lint` runs it.

Prose is Markdown, YAML, TOML, the Makefile, comments, docstrings, messages (strings of three words
or more) and names of tests. Identifiers, code blocks and text between back quotes are not.
"""

from __future__ import annotations

import io
import os
import re
import sys
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

from local.places import ROOT

# A pattern, and what to write instead. A space stands for any white space, also a line's end.
RULES = {
    r"who(?:m|so|se)?ever": "anyone who, the user who, a caller that",
    r"but for": "except",
    r"(?<!reader\s)(?<!can\s)(?<!be\s)(?:hears?|heard)": "gets, receives, is told",
    r"knows? of": "has, finds, is in",
    r"nobody": "no user, no one else, or say what is rejected",
    r"shall": "must, or the present tense",
    r"(?<!there\s)(?:is|are|was|were) (?-i:none)(?! of)": "does not exist, or `not` with the verb",
    r"(?<!there\s)(?<!where\s)(?:is|are|was|were) no"
    r" (?!longer|more|less|fewer|later|earlier|larger|smaller|different)[a-z]+": "is not a, has no",
    r"(?:there|where|here)(?:by|in|of|to|upon|from|with|fore)": "so, which, in it",
    r"hence(?:forth)?|whence|thence|hitherto": "so, from which, since",
    r"ought": "should",
    r"lest": "so that ... not",
    r"anew": "again",
    r"mend(?:s|ed|ing)?": "fix, repair",
    r"of th(?:at|is) kind": "such a, like this",
    r"of one mind": "must change together",
    r"reckon(?:s|ed|ing)?": "compute, estimate, assume",
    r"put(?:s|ting)? off": "delay",
    r"for want of": "without",
    r"so as to": "to",
    r"rings": "fires, raises an alarm",
    r"upon": "on",
    r"go(?:es)? by": "uses, follows",
    r"made good": "completed, corrected",
    r"in vain": "without effect",
    r"not a (?:one|single)": "no",
}


def _compiled(rule: str) -> re.Pattern[str]:
    spaced = rule.replace(" ", r"\s+")
    return re.compile(rf"\b(?:{spaced})\b", re.IGNORECASE)


_PATTERNS = {_compiled(rule): plain for rule, plain in RULES.items()}

_SKIPPED_FOLDERS = {".git", ".local", ".aws-sam", "node_modules", "dist", "__pycache__"}
# Generated from others, or the place where the words themselves are tried.
_SKIPPED_FILES = {"web/src/api/schema.ts", "tests/unit/test_plain_words.py", "local/plain_words.py"}

_CODE = "|"  # replaces what is not prose, so that words before and after it do not meet
_WORDS_OF_A_MESSAGE = 3
_BACK_QUOTED = re.compile(r"`[^`\n]+`")
_FENCED = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
_LINK_TARGET = re.compile(r"\]\([^)\s]*\)")
_RELEASED = re.compile(r"^## \[\d.*", re.DOTALL | re.MULTILINE)
_LUA = re.compile(r"--\[\[.*?\]\]|--[^\n]*|'(?:\\.|[^'\\\n])*'", re.DOTALL)
_TYPESCRIPT = re.compile(
    r"/\*.*?\*/|//[^\n]*|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|`(?:\\.|[^`\\])*`", re.DOTALL
)


def _blank(text: str) -> str:
    return re.sub(r"\S", _CODE, text)


def _all(text: str) -> str:
    return text


def _markdown(text: str) -> str:
    for pattern in (_RELEASED, _FENCED, _LINK_TARGET):
        text = pattern.sub(lambda found: _blank(found[0]), text)
    return text


def _is_message(literal: str) -> bool:
    return len(re.findall(r"[^\W\d_]{2,}", literal)) >= _WORDS_OF_A_MESSAGE and " " in literal


def _marks_out(piece: str) -> str:
    """Return a comment or a string without the signs that begin each of its lines."""
    return re.sub(
        r"^\s*(?:#|--|//|/?\*)+", lambda found: " " * len(found[0]), piece, flags=re.MULTILINE
    )


def _by_pattern(pattern: re.Pattern[str]) -> Callable[[str], str]:
    def prose(text: str) -> str:
        parts, end = [], 0
        for found in pattern.finditer(text):
            piece = found[0]
            is_prose = piece.startswith(("--", "//", "/*")) or _is_message(piece)
            parts += [
                _blank(text[end : found.start()]),
                _marks_out(piece) if is_prose else _blank(piece),
            ]
            end = found.end()
        return "".join([*parts, _blank(text[end:])])

    return prose


def _python_tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each token's kind and place; an f-string is one, as it was before Python 3.12."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    depth, opened = 0, 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        begin = starts[token.start[0] - 1] + token.start[1]
        stop = starts[token.end[0] - 1] + token.end[1]
        kind = tokenize.tok_name[token.type]
        if kind == "FSTRING_START":
            opened = opened if depth else begin
            depth += 1
        depth -= kind == "FSTRING_END"
        if kind == "FSTRING_END" and not depth:
            yield "STRING", opened, stop
        elif not depth:
            yield kind, begin, stop


def _python(text: str) -> str:
    parts, end, before = [], 0, ""
    for kind, begin, stop in _python_tokens(text):
        piece = text[begin:stop]
        prose = None
        if kind == "COMMENT":
            prose = _marks_out(piece)
        elif kind == "NAME" and before == "def" and piece.startswith("test_"):
            prose = piece.replace("_", " ")
        elif kind == "STRING" and _is_message(piece):
            if re.match(r"\w*[fF]", piece):
                piece = re.sub(r"\{[^{}]*\}", lambda found: _blank(found[0]), piece)
            prose = re.sub(r"^\w*(\"\"\"|'''|\"|')", lambda found: " " * len(found[0]), piece)
            prose = re.sub(r"(\"\"\"|'''|\"|')$", lambda found: " " * len(found[0]), prose)
        if prose is not None:
            parts += [_blank(text[end:begin]), prose]
            end = stop
        before = piece
    return "".join([*parts, _blank(text[end:])])


_PROSE: dict[str, Callable[[str], str]] = {
    ".py": _python,
    ".md": _markdown,
    ".lua": _by_pattern(_LUA),
    ".ts": _by_pattern(_TYPESCRIPT),
    ".mjs": _by_pattern(_TYPESCRIPT),
    ".css": _by_pattern(re.compile(r"/\*.*?\*/", re.DOTALL)),
    ".yaml": _all,
    ".yml": _all,
    ".toml": _all,
    "Makefile": _all,
}


def prose_of(name: str, text: str) -> str:
    """Return *text* with all that is not prose blanked out: every line keeps its number."""
    prose = _PROSE[Path(name).suffix or Path(name).name]
    return _BACK_QUOTED.sub(lambda found: _blank(found[0]), prose(text))


def find_words(name: str, text: str) -> Iterator[str]:
    """Yield a line for each word in the prose of *text* that has a plain alternative."""
    prose = prose_of(name, text)
    for pattern, plain in _PATTERNS.items():
        for found in pattern.finditer(prose):
            line = prose.count("\n", 0, found.start()) + 1
            words = " ".join(found[0].split())
            yield f'{name}:{line}: "{words}": write {plain}'


def breaks(rule: str, prose: str) -> bool:
    """Return whether *prose* has words of one of RULES."""
    return _compiled(rule).search(prose) is not None


def files(root: Path = ROOT) -> Iterator[Path]:
    """Yield every file below *root* that has prose."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - _SKIPPED_FOLDERS)
        for name in sorted(names):
            path = Path(folder) / name
            if (path.suffix or name) in _PROSE and path.relative_to(
                root
            ).as_posix() not in _SKIPPED_FILES:
                yield path


def main(root: Path = ROOT) -> int:
    """Print every finding; return 1 if there is one, or if no prose was found at all."""
    texts = {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in files(root)
    }
    if not any(_is_message(prose_of(name, text)) for name, text in texts.items()):
        print(f"No prose found below {root}", file=sys.stderr)
        return 1
    findings = [line for name, text in texts.items() for line in find_words(name, text)]
    for line in findings:
        print(line, file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
