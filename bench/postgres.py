"""PostgreSQL server for a bench, if Debian's package is installed."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

_CLUSTERS = Path("/usr/lib/postgresql")
"""Folder with each version's server programs, which Debian does not put on the PATH."""

TABLES = {"postgres": "on", "postgres_async": "off"}
"""Tables, with the synchronous_commit setting that decides whether an answered claim is durable."""

_TABLE = """
CREATE TABLE {table} (share_no int PRIMARY KEY, amount_fen int NOT NULL, user_id text UNIQUE);
CREATE INDEX {table}_left ON {table} (share_no) WHERE user_id IS NULL;
INSERT INTO {table} SELECT share_no, 100 FROM generate_series(1, {count}) AS share_no;
ANALYZE {table};
"""

CLAIM = """
WITH share AS (
  SELECT share_no FROM {table} WHERE user_id IS NULL
  ORDER BY share_no LIMIT 1 FOR UPDATE SKIP LOCKED
)
UPDATE {table} SET user_id = %s FROM share WHERE {table}.share_no = share.share_no
RETURNING amount_fen
"""


@contextmanager
def a_postgres(share_count: int) -> Iterator[str | None]:
    """Start a server with *share_count* shares in each table. Yield its connection string.

    Yields None if PostgreSQL is not installed.
    """
    programs = next(iter(sorted(_CLUSTERS.glob("*/bin/initdb"), reverse=True)), None)
    if programs is None:
        yield None
        return
    # The server refuses to run as root; the package creates this user.
    user = "postgres" if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="redpacket-") as folder:
        if user:
            shutil.chown(folder, user)
        data = f"{folder}/data"
        made = [str(programs), "--pgdata", data, "--auth", "trust", "--username", "bench"]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL, user=user, cwd=folder)
        served = [str(programs.with_name("postgres")), "-D", data, "-k", folder, "-h", ""]
        log = subprocess.DEVNULL
        with subprocess.Popen(served, stdout=log, stderr=log, user=user, cwd=folder) as server:
            try:
                address = f"host={folder} user=bench dbname=postgres"
                with _connected(address) as connection:
                    for table in TABLES:
                        connection.execute(_TABLE.format(table=table, count=share_count))
                yield address
            finally:
                server.send_signal(signal.SIGINT)  # Do not wait for connected clients.
                server.wait()


def _connected(address: str) -> psycopg.Connection:
    give_up_at = time.monotonic() + 20
    while True:
        try:
            return psycopg.connect(address, autocommit=True)
        except psycopg.OperationalError:
            if time.monotonic() > give_up_at:
                raise
            time.sleep(0.05)
