"""Server for one program in the local stack; it runs until the process stops."""

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
    """Serve, by default only to this machine. With *is_proxy*, add no Date header.

    If the stack has already reserved the port, serve the socket in `LISTEN_FD`.
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
