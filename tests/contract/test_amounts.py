"""Amounts in Python and TypeScript: the same texts for the same numbers, in every unit."""

import json
import random
import subprocess
from functools import partial

import pytest
import typer

from local import places
from redpacket.platform.unit import Unit
from redpacket_cli import amounts

UNITS = [Unit(), Unit("points", "pts", 0), Unit("coins", "✦", 0), Unit("gems", "宝石", 2)]

_TYPESCRIPT = """
import { createRequire } from "node:module";
import * as money from "./web/src/money.ts";
const require = createRequire(process.cwd() + "/examples/miniprogram/");
const config = require("./config.js");
const results = JSON.parse(process.argv[1]).map(({ unit, fen, texts }) => {
  money.useUnit(unit);
  config.unit = unit;
  delete require.cache[require.resolve("./api.js")];
  return {
    digits: fen.map(money.digits),
    money: fen.map(money.money),
    parsed: texts.map((text) => money.parseAmount(text) || null),
    mini: fen.map(Math.abs).map(require("./api.js").digits),
  };
});
console.log(JSON.stringify(results));
"""


def _typed(rng: random.Random, unit: Unit) -> str:
    """Return text that may be an amount, with the unit's symbol."""
    length = rng.randrange(1, 9)
    number = "".join(rng.choice("0123456789,. '") for _ in range(length))
    if rng.random() < 0.5:
        number = unit.digits(rng.randrange(10**7), rng.choice(["", ",", " "]))
    follows = unit.symbol[-1].isalpha()
    return f"{number} {unit.symbol}" if follows else f"{unit.symbol}{number}"


def _parsed(text: str) -> int | None:
    try:
        return amounts.parse_amount(text)
    except typer.BadParameter:
        return None


def test_both_languages_format_and_parse_the_same_amounts(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(46)
    fen = [0, 1, -5, 99, 100, *(rng.randrange(-(10**9), 10**12) for _ in range(200))]
    texts = {unit: [_typed(rng, unit) for _ in range(500)] for unit in UNITS}
    asked = [{"unit": unit._asdict(), "fen": fen, "texts": texts[unit]} for unit in UNITS]
    node = places.LOCAL / "venv" / "node" / "bin" / "node"
    command = [str(node), "--input-type=module", "-e", _TYPESCRIPT, json.dumps(asked)]

    done = subprocess.run(command, cwd=places.ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    for unit, told in zip(UNITS, json.loads(done.stdout), strict=True):
        monkeypatch.setitem(amounts._chosen, "unit", partial(Unit, *unit))
        assert told == {
            "digits": [unit.digits(each) for each in fen],
            "money": [unit.text(each) for each in fen],
            "parsed": [_parsed(text) for text in texts[unit]],
            "mini": [unit.digits(abs(each)) for each in fen],
        }
        assert sum(each is not None for each in told["parsed"]) > 100
