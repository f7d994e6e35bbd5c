"""Command that queries the stack's cache directly."""

import re
import socket
from io import BufferedReader
from typing import Annotated, Any

import typer
from rich.text import Text

from redpacket_cli.failures import Exit, Failure, no_target
from redpacket_cli.session import session_of
from redpacket_cli.target import Target

_TIMEOUT_S = 5.0


def cache(
    context: typer.Context,
    words: Annotated[list[str], typer.Argument(help="Command, like INFO memory.")],
) -> None:
    """Send a command to the stack's cache. On AWS this works only inside its VPC."""
    session = session_of(context)
    answer = ask_cache(session.target, words)
    session.screen.report({"answer": answer}, Text(_lines_of(answer)))


def ask_cache(target: Target, words: list[str]) -> Any:  # noqa: ANN401 - each command has its own
    """Return the cache's answer to a command. Raises Failure."""
    try:
        if target.local is not None:
            host, _, port = target.local["cache"].rpartition(":")
            with (
                socket.create_connection((host, int(port)), _TIMEOUT_S) as connection,
                connection.makefile("rb") as answers,
            ):
                return _sent(connection, answers, words)
        from redpacket.platform.tls import context_for

        host, user, token = _sign_in(target)
        with (
            socket.create_connection((host, 6379), _TIMEOUT_S) as plain,
            context_for(host).wrap_socket(plain, server_hostname=host) as connection,
            connection.makefile("rb") as answers,
        ):
            _sent(connection, answers, ["AUTH", user, token])
            return _sent(connection, answers, words)
    except OSError as error:
        detail = (
            f"the cache does not answer: {error}. See docs/runbook/cache-lost.md. On AWS, run this "
            "inside the stack's VPC"
        )
        raise Failure(Exit.UNAVAILABLE, detail) from None


def memory_of(facts: str) -> tuple[int, int]:
    """Return the used bytes and the limit from `INFO memory`; 0 means no limit."""
    numbers = dict(re.findall(r"^(used_memory|maxmemory):(\d+)", facts, re.MULTILINE))
    return int(numbers["used_memory"]), int(numbers["maxmemory"])


def _sign_in(target: Target) -> tuple[str, str, str]:
    """Return the host, the user, and a token for the stack's ElastiCache cache."""
    import boto3

    from redpacket.platform.aws.cache_token import cache_token
    from redpacket.platform.aws.signature import Keys

    group, user = target.resource("Cache"), target.resource("FunctionsUser")
    groups = target.aws("elasticache").describe_replication_groups(ReplicationGroupId=group)
    endpoint = groups["ReplicationGroups"][0]["NodeGroups"][0]["PrimaryEndpoint"]
    session = boto3.Session()
    credentials = session.get_credentials()
    if credentials is None:
        raise no_target("AWS credentials are missing: check them with aws sts get-caller-identity")
    keys = credentials.get_frozen_credentials()
    signed_by = Keys(str(keys.access_key), str(keys.secret_key), keys.token or "")
    region = session.region_name
    return (
        endpoint["Address"],
        user,
        cache_token(f"replicationgroup:{group}", user, region, signed_by),
    )


def _sent(connection: socket.socket, answers: BufferedReader, words: list[str]) -> Any:  # noqa: ANN401
    encoded = [word.encode() for word in words]
    sent = b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in encoded)
    connection.sendall(b"*%d\r\n%b" % (len(encoded), sent))
    return _answer(answers)


def _answer(answers: BufferedReader) -> Any:  # noqa: ANN401 - each command has its own
    """Read one reply in version 2 of the Redis protocol. Raises Failure."""
    line = answers.readline().decode()
    kind, text = line[:1], line[1:].rstrip("\r\n")
    if kind == "+":
        return text
    if kind == ":":
        return int(text)
    if kind == "$":
        return None if text == "-1" else answers.read(int(text) + 2)[:-2].decode(errors="replace")
    if kind == "*":
        return [_answer(answers) for _ in range(int(text))]
    why = text or "it closed the connection"
    raise Failure(Exit.REFUSED, f"the cache refused: {why}. Check the command and its arguments")


def _lines_of(answer: Any) -> str:  # noqa: ANN401 - each command has its own
    if isinstance(answer, list):
        return "\n".join(_lines_of(element) for element in answer)
    return re.sub(r"\r\n?", "\n", "(none)" if answer is None else str(answer))
