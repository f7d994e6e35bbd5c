"""Wrapping of Markdown paragraphs and list items; tables and code keep their lines."""

from local.wrap_markdown import COLUMNS, wrapped

WORDS = "A sentence that fills its line. " * 8
SPAN = f"`{'a command with options ' * 3}`"


def test_paragraphs_and_items_wrap_below_their_first_word() -> None:
    lines = wrapped(f"{WORDS}\n\n- {WORDS}{SPAN}\n").splitlines()

    assert max(map(len, lines)) <= COLUMNS
    assert sum(line.startswith("  ") for line in lines) == 3
    assert any(SPAN in line for line in lines), "code spans have one line"


def test_an_operator_never_starts_a_line_where_it_would_begin_a_list() -> None:
    text = "word " * 19 + "words + 1 and 1. < 2"

    assert wrapped(text).splitlines()[1:] == ["words + 1 and 1. < 2"]


def test_tables_code_and_generated_blocks_keep_their_lines() -> None:
    page = (
        f"| {WORDS}|\n\n```sh\n{WORDS}\n```\n\n    {WORDS}\n\n<!-- a:begin -->\n{WORDS}\n"
        "<!-- a:end -->\n"
    )

    assert wrapped(page) == page
