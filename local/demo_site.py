"""Third-party pages that embed a packet from the `make up` stack: `make demo-site`."""

import os
import subprocess

import httpx

from local import commands, places
from local.client import Client
from local.errors import StackError

ORIGIN = "http://localhost:5173"
PACKET = {"kind": "lucky", "total_fen": 8888, "count": 20, "greeting": "开业大吉"}


def serve() -> None:
    """Start the stack unless one is running, send a packet, and serve the pages until Ctrl-C."""
    os.environ.setdefault("EMBED", ORIGIN)
    api = str(commands.started()["api"])
    # A browser's preflight request, which has no token.
    headers = {"Origin": ORIGIN, "Access-Control-Request-Method": "GET"}
    answer = httpx.options(f"{api}/api/me", headers=headers, trust_env=False)
    if answer.headers.get("access-control-allow-origin") != ORIGIN:
        raise StackError(f"the running stack refuses {ORIGIN}: `make down`, then repeat this")
    with Client(api) as passer_by:
        alice = {"sub": "alice", "nickname": "Alice"}
        token = passer_by.post("/dev/tokens", alice, "token")["token"]
    with Client(api, token) as sender:
        packet_id = sender.post("/packets", PACKET)["packet_id"]
    npm = ["npm", "--prefix", str(places.ROOT / "web"), "run", "--silent"]
    env = os.environ | {"VITE_PACKETS": api}
    subprocess.run([*npm, "examples"], env=env, check=True, stdout=subprocess.DEVNULL)
    commands.say(f"\n{ORIGIN}/?packet={packet_id}\nCtrl-C stops the pages, `make down` the stack.")
    subprocess.run([*npm, "examples:serve"], env=env, check=True, stdout=subprocess.DEVNULL)
