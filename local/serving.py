"""Serves one program of the local stack, until it is told to stop."""

from typing import Any

import uvicorn

from local.ports import HOST


def serve(application: Any, port: int, *, is_proxy: bool = False) -> None:  # noqa: ANN401
    """Serve to this machine alone. A proxy hands answers on with the headers that they have."""
    uvicorn.run(
        application,
        host=HOST,
        port=port,
        log_level="critical",
        access_log=False,
        lifespan="off" if is_proxy else "auto",
        server_header=False,
        date_header=not is_proxy,
        timeout_graceful_shutdown=1,
    )
