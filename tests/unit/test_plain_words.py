"""The check of plain words finds each banned word in prose, and leaves code alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from local import plain_words

FOUND = {
    "whoever comes late gets nothing": "whoever",
    "all fields but for the budget": "but for",
    "the cache hears of it": "hears",
    "a cache that has not heard it": "heard",
    "the ledger knows of one": "knows of",
    "nobody may take it": "nobody",
    "a packet shall end": "shall",
    "a block is none": "is none",
    "the text is no cursor": "is no cursor",
    "thereby it ends": "thereby",
    "the row wherein it stands": "wherein",
    "and hence it ends": "hence",
    "the place whence it came": "whence",
    "it ought to end": "ought",
    "it ends lest it be lost": "lest",
    "the page is made anew": "anew",
    "the second call mends it": "mends",
    "a claim of that kind ends": "of that kind",
    "both are of one mind": "of one mind",
    "a model that reckons with it": "reckons",
    "claims are put off until then": "put off",
    "refused for want of a token": "for want of",
    "so as to end it": "so as to",
    "the alarm rings": "rings",
    "one edit upon another": "upon",
    "draws go by the table": "go by",
    "a lost message is made good": "made good",
    "it is asked in vain": "in vain",
    "not a single one ended": "not a single",
}

PLAIN = [
    "there is no such packet, and there is none left",
    "it is no longer open and is no less true",
    "a phrase that can be heard, as a screen reader hears it",
    "the value is None of the three",
    "an isle of no cursor",
]


def _words(name: str, text: str) -> list[str]:
    return [line.split('"')[1] for line in plain_words.find_words(name, text)]


@pytest.mark.parametrize(("prose", "word"), FOUND.items())
def test_each_word_is_found_with_its_line_and_a_plain_alternative(prose: str, word: str) -> None:
    (found,) = plain_words.find_words("a.md", f"First.\n\n{prose}\n")

    assert found.startswith(f'a.md:3: "{word}": write ')


def test_every_rule_has_an_example() -> None:
    found = {
        rule for rule in plain_words.RULES for prose in FOUND if plain_words.breaks(rule, prose)
    }

    assert found == set(plain_words.RULES)


@pytest.mark.parametrize("prose", PLAIN)
def test_plain_english_passes(prose: str) -> None:
    assert _words("a.md", prose) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", '"""Return what nobody took."""\n'),
        ("a.py", "x = 1  # nobody took it\n"),
        ("a.py", "# what is left but\n# for nobody else\n"),
        ("a.py", 'raise Forbidden("nobody credits themselves")\n'),
        ("a.py", 'msg = f"{name}: nobody took as much as {count}"\n'),
        ("a.py", "def test_nobody_takes_it() -> None: ...\n"),
        ("a.lua", "-- Nobody took it.\nlocal x = 1\n"),
        ("a.lua", "--[[\na.lua - nobody took it\n]]\n"),
        ("a.ts", "/** Nobody took it. */\n"),
        ("a.ts", 'const en = { hint: "Nobody else gets a share" };\n'),
        ("a.yaml", "Queue: # nobody waits for it\n"),
        ("Makefile", "help: ## nobody needs it\n"),
        ("CHANGELOG.md", "## [Unreleased]\n- nobody waits\n## [1.0.0]\n- nobody waited\n"),
    ],
)
def test_prose_is_found_in_every_kind_of_file(name: str, text: str) -> None:
    assert [word.lower() for word in _words(name, text) if word.lower() == "nobody"] == ["nobody"]


def test_a_phrase_is_found_across_lines_of_a_comment_and_of_a_message() -> None:
    assert _words("a.py", "# all fields but\n# for the budget\n") == ["but for"]
    assert _words("a.py", 'x = (\n    "all the fields but "\n    "for the last budget"\n)\n') == [
        "but for"
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", "nobody = shall_pass(whoever)\n"),
        ("a.py", 'user = "nobody"\n'),
        ("a.py", "if share.settled_at_ms is None or nobody:\n    pass\n"),
        ("a.py", "# The field `nobody` of a row.\n"),
        ("a.ts", "const nobody_yet = t('nobody_yet');\n"),
        ("a.lua", "local nobody = redis.call('HGET', nobody)\n"),
        ("a.md", "Call `nobody` or\n\n```sh\nnobody\n```\n\n[a](nobody.md)\n"),
    ],
)
def test_code_and_quoted_names_are_not_prose(name: str, text: str) -> None:
    assert _words(name, text) == []


def test_it_fails_when_it_has_read_no_prose(tmp_path: Path) -> None:
    assert plain_words.main(tmp_path) == 1
    (tmp_path / "a.py").write_text("nobody = 1\n")
    assert plain_words.main(tmp_path) == 1


def test_it_passes_on_plain_prose_and_fails_on_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.md").write_text("Each user takes one share.\n")
    assert plain_words.main(tmp_path) == 0
    (tmp_path / "b.md").write_text("Nobody takes two shares.\n")

    assert plain_words.main(tmp_path) == 1

    assert 'b.md:1: "Nobody": write no user' in capsys.readouterr().err


def test_the_project_is_read() -> None:
    names = {path.name for path in plain_words.files()}

    assert {"README.md", "README.zh-CN.md", "claim_share.py", "open.lua", "template.yaml"} <= names
