"""Rules for handlers: the scope of operators' routes, caching of answers, and cold imports."""

import json
import runpy
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from local.packet_ids import PUBLISHED_IDS
from local.places import ROOT
from redpacket.platform.http.api import Api

HANDLERS = {
    path.parent.name: runpy.run_path(str(path))["handler"]
    for path in sorted((ROOT / "functions").glob("*/app.py"))
}
ROUTES = {
    key: handler
    for handler in HANDLERS.values()
    if isinstance(handler, Api)
    for key in handler.operations
}
CROWDED = {"grab", "lottery", "payout"}
ADMIN_ROUTES = [key for key in ROUTES if " /admin/" in key]


def _answer(key: str, **claims: str) -> Mapping[str, Any]:
    event = {
        "routeKey": key,
        "pathParameters": {"packet_id": PUBLISHED_IDS.sign("A" * 22), "campaign_id": "gala"},
        "requestContext": {"requestId": "r", "authorizer": {"jwt": {"claims": claims}}},
    }
    return ROUTES[key](event, None)


def test_a_route_of_operators_refuses_a_token_without_the_scope() -> None:
    for key in ADMIN_ROUTES:
        for scope in ("", "hongbao", "hongbao/administrator", "HONGBAO/ADMIN"):
            answer = _answer(key, sub="ann", scope=scope)
            stored = answer["statusCode"], json.loads(answer["body"])["code"]
            assert (key, *stored) == (key, 403, "forbidden")


def test_no_answer_is_cached_unless_it_says_so() -> None:
    for key in ROUTES:
        if not key.endswith(("/feed", "/preview")):
            headers = _answer(key, sub="-no user id")["headers"]
            actual = headers["cache-control"], headers["x-request-id"]
            assert (key, *actual) == (key, "no-store", "r")


_COLD = """
import os, runpy, sys
for path in sys.argv[1:]:
    if not os.fork():
        runpy.run_path(path)
        names = [name for name in sys.modules if name.rpartition(".")[2].startswith(UNWANTED)]
        print(path, *names, flush=True)
        os._exit(0)
    assert os.wait()[1] == 0, path
"""


def test_a_cold_handler_imports_no_schemas_or_confusables_and_a_public_handler_no_pydantic() -> (
    None
):
    unwanted = "answers", "confusable", "pydantic"
    paths = [str(ROOT / "functions" / handler / "app.py") for handler in HANDLERS]

    done = subprocess.run(
        [sys.executable, "-c", _COLD.replace("UNWANTED", repr(unwanted)), *paths],
        env={"PYTHONPATH": str(ROOT / "shared")},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )

    imported = {path: set(names) for path, *names in map(str.split, done.stdout.splitlines())}
    assert list(imported) == paths
    for handler, path in zip(HANDLERS, paths, strict=True):
        roots = {name for name in imported[path] if not name.startswith("pydantic")}
        assert roots == set(), handler
        assert handler not in CROWDED or imported[path] == set(), handler
    assert any(imported.values()), "it sees what is imported"
