"""Target stack of a command: one on AWS, or one that `make up` or `make run` started."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redpacket.platform.unit import Unit
from redpacket_cli.api import Api
from redpacket_cli.failures import Exit, Failure, no_target
from redpacket_cli.tokens import keep_token, kept_token

if TYPE_CHECKING:
    import httpx

ADMIN_SCOPE = "hongbao/admin"
STATE_DIRS = (Path(".local/state/up"), Path(".local/state/run"))
"""Folders with the state of the stacks that `make up` and `make run` start."""

_TIMEOUT_S = 30.0
"""Timeout of a call in seconds, the same as API Gateway's."""

_REGION = "us-east-1"
_ON_THIS_MACHINE = {
    "region_name": _REGION,
    "aws_access_key_id": "test",
    "aws_secret_access_key": "test",
}
_LOGS_BACK_S = 24 * 3600


@dataclass
class Target:
    """Target stack: a name on AWS, an address and a token, or a local stack's folder.

    *transport* and *connect* replace the network in tests.
    """

    stack: str = ""
    url: str = ""
    token: str = ""
    state_dir: Path | None = None
    transport: httpx.BaseTransport | None = None
    connect: Callable[..., Any] | None = field(default=None, repr=False)

    @cached_property
    def local(self) -> dict[str, Any] | None:
        """Description of the local stack, or None if another stack is named."""
        if self.stack or self.url:
            return None
        for folder in STATE_DIRS if self.state_dir is None else (self.state_dir,):
            try:
                described: dict[str, Any] = json.loads((folder / "stack.json").read_text("utf-8"))
            except (OSError, ValueError):
                continue
            if _is_running(folder / "lock"):
                return described
        raise no_target(
            f"no local stack runs in {self.state_dir or Path.cwd()}: start one with `make up`, or "
            "name one on AWS with --stack"
        )

    @cached_property
    def outputs(self) -> dict[str, str]:
        """The outputs of the stack. Raises Failure."""
        if self.local is not None:
            outputs: dict[str, str] = self.local["outputs"]
            return outputs
        if not self.stack:
            raise no_target("this needs the stack's outputs: name the stack with --stack")
        description = self.aws("cloudformation").describe_stacks(StackName=self.stack)["Stacks"][0]
        return {output["OutputKey"]: output["OutputValue"] for output in description["Outputs"]}

    @cached_property
    def address(self) -> str:
        """Address of the API. Raises Failure."""
        if self.url:
            return self.url
        return str(self.local["api"]) if self.local is not None else self.outputs["ApiUrl"]

    def aws(self, service: str) -> Any:  # noqa: ANN401 - boto3's clients have no type at run time
        """Return a client for AWS, or for the local stack's emulator. Raises Failure."""
        # Import lazily: most commands only call the API, and boto3 takes half a second to import.
        import boto3

        # boto3's stubs have a type for each literal service name, but none for a variable.
        connect: Callable[..., Any] = self.connect or boto3.client
        if self.local is not None:
            url = self.local.get(service, self.local["emulator"])
            return connect(service, endpoint_url=url, **_ON_THIS_MACHINE)
        return connect(service)

    @property
    def stack_name(self) -> str:
        """Name of the stack. All local stacks have the same name."""
        return self.stack or "redpacket-local"

    def resource(self, logical_id: str) -> str:
        """Return the physical name of a resource in the template. Raises Failure."""
        description = self.aws("cloudformation").describe_stack_resource(
            StackName=self.stack_name, LogicalResourceId=logical_id
        )
        return str(description["StackResourceDetail"]["PhysicalResourceId"])

    @cached_property
    def operator(self) -> Api:
        """API client with an operator's token. Raises Failure."""
        return self.by_token(self.token or self._operator_token())

    @cached_property
    def passer_by(self) -> Api:
        """API client without a token."""
        return self.by_token("")

    @cached_property
    def unit(self) -> Unit:
        """Unit of account of the stack; yuan in versions that report none. Raises Failure."""
        named = self.passer_by.get("/health").get("unit")
        return Unit(**named) if named else Unit()

    def user(self, name: str, token: str = "") -> Api:
        """Return an API client for a user, with *token* or else a token from the local stack."""
        return self.by_token(token or self.dev_token(name))

    def dev_token(self, name: str, scope: str = "") -> str:
        """Return a token from the local stack's issuer. Raises Failure on AWS."""
        if self.local is None:
            raise no_target(
                "only a local stack issues tokens for users: pass the host's own with "
                "--user-token, or to `load` with --tokens"
            )
        body = {"sub": name, **({"scope": scope} if scope else {})}
        return str(self.passer_by.post("/dev/tokens", body)["token"])

    def _operator_token(self) -> str:
        if self.local is not None:
            return self.dev_token("operator", ADMIN_SCOPE)
        if not self.stack or "OperatorClientId" not in self.outputs:
            raise no_target(
                "no operator token: pass one with the scope hongbao/admin by --token or "
                "REDPACKET_TOKEN"
            )
        return self._client_token()

    def _client_token(self) -> str:
        """Return a token for the operators' client, whose secret IAM lets the caller read."""
        outputs = self.outputs
        if kept := kept_token(outputs["OperatorClientId"]):
            return kept
        client = self.aws("cognito-idp").describe_user_pool_client(
            UserPoolId=outputs["UserPoolId"], ClientId=outputs["OperatorClientId"]
        )["UserPoolClient"]
        import httpx

        try:
            answer = self.http.post(
                outputs["OperatorTokenUrl"],
                auth=(client["ClientId"], client["ClientSecret"]),
                data={"grant_type": "client_credentials", "scope": ADMIN_SCOPE},
            )
        except httpx.HTTPError as error:
            detail = f"the token issuer does not answer. Repeat the command: {error}"
            raise Failure(Exit.UNAVAILABLE, detail) from error
        if not answer.is_success:
            raise no_target(
                f"the issuer refused the operator client with {answer.status_code}: pass a token "
                "with --token, and check the client in Cognito"
            )
        granted = answer.json()
        token = str(granted["access_token"])
        keep_token(client["ClientId"], token, granted["expires_in"])
        return token

    def by_token(self, token: str) -> Api:
        """Return an API client with *token*. If it is "", calls are anonymous."""
        return Api(self.http, token)

    @cached_property
    def http(self) -> httpx.Client:
        """HTTP connections that all API clients share."""
        import httpx

        return httpx.Client(
            base_url=self.address,
            timeout=_TIMEOUT_S,
            transport=self.transport,
            # A company's proxy reaches AWS, but not this machine.
            trust_env=self.local is None,
        )

    def connect_once(self) -> None:
        """Create the HTTP client before the threads that share it."""
        _ = self.http

    def close(self) -> None:
        """Close the HTTP client if it was created."""
        if "http" in vars(self):
            self.http.close()

    def logged(
        self, log_group: str, words: str, back_s: int = _LOGS_BACK_S
    ) -> list[dict[str, Any]]:
        """Return the lines of a log that contain *words*, oldest first. Raises Failure."""
        logs, lines = self.aws("logs"), []
        query: dict[str, Any] = {
            "logGroupName": self.resource(log_group),
            **({"filterPattern": f'"{words}"'} if words else {}),
            "startTime": int((time.time() - back_s) * 1000),
        }
        while True:
            page = logs.filter_log_events(**query)
            lines += [_line_of(event["message"]) for event in page["events"]]
            if "nextToken" not in page:
                return lines
            query["nextToken"] = page["nextToken"]


def _is_running(lock: Path) -> bool:
    """Return whether a running stack holds *lock*. A killed stack leaves only its description."""
    # Import lazily: Windows has neither this module nor a local stack.
    import fcntl

    try:
        with lock.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


def _line_of(message: str) -> dict[str, Any]:
    try:
        line = json.loads(message)
    except ValueError:
        return {"message": message.strip()}
    return line if isinstance(line, dict) else {"message": message.strip()}
