"""Headers of the scripts: they document the answers, keys and arguments that the scripts use."""

import re

import pytest

from redpacket.lottery.model.lottery import DrawStatus
from redpacket.packets.model.claim import AdmitStatus, GrabStatus, QuotaStatus
from redpacket.platform.redis.connect import LUA_FOLDER, read_script

SCRIPTS = sorted(path.stem for path in LUA_FOLDER.glob("*.lua"))


def _documented(name: str) -> list[str]:
    header = (LUA_FOLDER / f"{name}.lua").read_text().partition("]]")[0]
    section = re.search(r"^Returns.*?:\n((?:  .*\n)+)", header, re.MULTILINE)
    assert section, f"{name} documents no statuses"
    return re.findall(r"^  (\w+)", section[1], re.MULTILINE)


def _returned(name: str) -> list[str]:
    # A single letter is a state from lib/state, not a status.
    matches = re.findall(r"return (?:or_owned\([\w, ]+)?'(\w{2,})", read_script(name))
    return list(dict.fromkeys(matches))


def test_the_scripts_are_found() -> None:
    assert {"packet_grab", "packet_load", "draw_prize"} <= set(SCRIPTS)


@pytest.mark.parametrize("name", SCRIPTS)
def test_documented_statuses_are_the_returned_ones(name: str) -> None:
    assert _documented(name) == _returned(name)


def test_statuses_are_those_of_the_enums_in_order_of_precedence() -> None:
    of_the_adapter_itself = {
        GrabStatus.PACKET_ALTERED,
        GrabStatus.PACKET_GATED,
        DrawStatus.CAMPAIGN_ALTERED,
    }
    grabbed = [status for status in GrabStatus if status not in of_the_adapter_itself]

    assert _documented("packet_grab") == grabbed
    assert _documented("packet_admit") == list(AdmitStatus)
    assert _documented("quota_reserve") == list(QuotaStatus)
    drawn = [status for status in DrawStatus if status not in of_the_adapter_itself]
    assert _documented("draw_prize") == drawn


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_key_and_argument_is_named_once(name: str) -> None:
    header, _, body = (LUA_FOLDER / f"{name}.lua").read_text().partition("]]")
    documented = re.findall(r"^((?:KEYS|ARGV)\[\d+\])  ", header, re.MULTILINE)
    used = re.findall(r"(?:KEYS|ARGV)\[\d+\]", body)

    assert len(used) == len(set(used))
    # If a loop reads the last arguments, the header names them once, as a group.
    is_walked = "#ARGV" in body
    assert set(used) == set(documented[:-1] if is_walked else documented)


@pytest.mark.parametrize("name", SCRIPTS)
def test_only_closing_and_correcting_run_on_a_full_server(name: str) -> None:
    shebang = read_script(name).partition("\n")[0]

    adds_nothing = name in {"packet_close", "packet_amend", "draw_undo"}
    assert shebang == ("#!lua flags=allow-oom" if adds_nothing else "#!lua")


@pytest.mark.parametrize("name", SCRIPTS)
def test_includes_are_inlined_and_comments_removed(name: str) -> None:
    script = read_script(name)

    assert "@include" not in script
    assert "--" not in script


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_short(name: str) -> None:
    body = (LUA_FOLDER / f"{name}.lua").read_text().partition("]]")[2]

    assert len(body.splitlines()) <= 60


@pytest.mark.parametrize("name", SCRIPTS)
def test_keys_contain_no_user_ids(name: str) -> None:
    header = (LUA_FOLDER / f"{name}.lua").read_text().partition("]]")[0]

    for line in re.findall(r"^KEYS\[\d+\].*$", header, re.MULTILINE):
        # The header gives each key's type and name; user ids are arguments.
        assert re.search(r"  (HASH|ZSET|STRING)  .* rp:\S*\{.+\}", line), line


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_build_no_keys(name: str) -> None:
    script = read_script(name)
    declared = set(re.findall(r"^local (\w+_key) = KEYS\[\d+\]$", script, re.MULTILINE))

    called = re.findall(r"redis\.call\('(\w+)'(?:, ([^,)]+))?", script)

    assert declared
    assert {key for command, key in called if command != "TIME"} <= declared
    # A server need not report its run id; every other command must fail visibly.
    assert set(re.findall(r"redis\.pcall\('(\w+)'", script)) <= {"INFO"}
