"""Server for one program of the local stack, which runs until the process is stopped."""

import os
import socket
from typing import Any

import uvicorn

from local.ports import HOST


def serve(
    application: Any,  # noqa: ANN401
    port: int,
    *,
    host: str = HOST,
    is_proxy: bool = False,
) -> None:
    """Serve to this machine alone by default. A proxy keeps the headers that it passes on.

    If the stack has already taken the port (`LISTEN_FD`), serve that socket.
    """
    config = uvicorn.Config(
        application,
        host=host,
        port=port,
        log_level="critical",
        access_log=False,
        lifespan="off" if is_proxy else "auto",
        server_header=False,
        date_header=not is_proxy,
        timeout_graceful_shutdown=1,
    )
    listener = os.environ.get("LISTEN_FD")
    uvicorn.Server(config).run([socket.socket(fileno=int(listener))] if listener else None)
