"""Handlers' calls to AWS: the template's IAM policies allow each call, item by item.

The handlers use a real cache and an in-memory ledger. A small evaluator of IAM's rules judges each
recorded call; it knows what DynamoDB asks IAM for each item of a transaction.
"""

import json
import re
import time
import uuid
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from local.chat.secret import make_secret
from local.packet_ids import PUBLISHED_KEYS
from local.ports import HOST
from local.seed_keys import PUBLISHED_SEED_KEYS
from local.user_ids import PUBLISHED_KEY
from local.warehouse import Duck, export
from redpacket.campaigns.dynamodb import keys as campaign_keys
from redpacket.chat.connector_name import ConnectorName
from redpacket.chat.ports import ConnectorEnvironment
from redpacket.containers import containers
from redpacket.containers.chat import ChatContainer
from redpacket.containers.platform import Platform
from redpacket.events.model.events import SUBSCRIBED
from redpacket.fairness.model.log import id_hash_of
from redpacket.ledger.dynamodb import keys
from redpacket.ledger.provider_name import ProviderName
from redpacket.packets.api.packet_ids import packet_ids
from redpacket.packets.clients.sqs_payouts import SETTLE
from redpacket.packets.dynamodb import keys as packet_keys
from redpacket.payments.model.provider import ProviderEvent, ProviderEventKind, StatementKind
from redpacket.payments.token_issuer import IssuerKeys
from redpacket.platform.dynamodb.client import Row, to_wire
from redpacket.platform.http.request import user_ids
from redpacket.platform.runtime import SystemClock
from redpacket.platform.ssrf_safe_http import HttpAnswer, HttpClient
from redpacket.reconciliation.ports import Found
from redpacket.reconciliation.use_cases.statements import MOVING_MS, Run, tables
from testing.fairness.fake_head_signer import FakeSigner
from testing.fakes import FakeDynamo
from testing.payments.fake_gateway import (
    FakeAuthorizations,
    FakeGateway,
    FakeLogins,
    FakePaymentsIn,
    FakePaymentsOut,
)
from testing.pictures import jpeg
from testing.platform.fake_tables import FakeStream
from testing.platform.process import MEMBERS
from testing.platform.servers import OperatorCache
from tests.template.iam import ALL, NAMED, Access, allows, may, statements
from tests.template.test_template import HANDLERS, _function_of, _handler
from tests.template.translated import ACCOUNT, STACK_OF

STACK = STACK_OF["sign-in by WeChat, and a cache that is reached from anywhere"]
SCOPE = "hongbao/admin"
APPROVED_FEN = 2_000_000
APPROVALS = "POST /admin/approvals/{approval_id}"
PRIZE = "/admin/campaigns/{campaign_id}/prizes/{prize_id}"


# ---- IAM


def _may(
    function: str, action: str, resource: str, *attributes: str, returned: str = "NONE"
) -> bool:
    """Return whether a function's role allows an action on a resource, with these attributes."""
    return may(STACK, Access(function, action, resource, frozenset(attributes), returned))


# ---- DynamoDB's questions to IAM about a call

_WORDS = {"SET", "REMOVE", "ADD", "DELETE", "AND", "OR", "NOT", "BETWEEN", "IN"}
_FUNCTIONS = {"attribute_exists", "attribute_not_exists", "begins_with", "if_not_exists", "size"}
_READS = {"GetItem", "BatchGetItem", "Query", "Scan"}
_ITEMS = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "ConditionCheck": "ConditionCheckItem",
    "Delete": "DeleteItem",
}


def _attributes(arguments: dict[str, Any]) -> frozenset[str]:
    """Return all top-level attributes in a request."""
    names = arguments.get("ExpressionAttributeNames", {})
    stored = {*arguments.get("Key", {}), *arguments.get("Item", {})}
    stored |= {name for key in arguments.get("Keys", ()) for name in key}
    steps = ("Update", "Condition", "KeyCondition", "Projection")
    for part in (f"{name}Expression" for name in steps):
        for word in re.findall(r"(?<![\w:#])[#A-Za-z_]\w*", arguments.get(part, "")):
            name = names.get(word, word)
            if word.upper() not in _WORDS and name not in _FUNCTIONS:
                stored.add(name)
    return frozenset(stored)


def _named(action: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return IAM's view of one item, or of one table in a batch."""
    keys = [*arguments.get("Keys", ()), arguments.get("Key") or arguments.get("Item") or {}]
    select = NAMED if "ProjectionExpression" in arguments else ALL
    return {
        "action": f"dynamodb:{action}",
        "attributes": _attributes(arguments),
        "returned": arguments.get("ReturnValues", "NONE"),
        "partitions": frozenset(key["pk"]["S"] for key in keys if "pk" in key),
        "select": select if action in _READS else "",
    }


def _of_dynamodb(operation: str, arguments: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the table or index of each item of a call, and IAM's view of it."""
    if operation == "transact_write_items":
        for item in arguments["TransactItems"]:
            ((kind, each),) = item.items()
            yield each["TableName"], _named(_ITEMS[kind], each)
    elif operation == "batch_get_item":
        for table, each in arguments["RequestItems"].items():
            yield table, _named("BatchGetItem", each)
    else:
        index = arguments.get("IndexName")
        place = f"{arguments['TableName']}/index/{index}" if index else arguments["TableName"]
        yield place, _named(operation.title().replace("_", ""), arguments)


SECRETS = {
    STACK.arn("PayeeKeys"): json.dumps({"1": "k" * 64}),
    STACK.arn("WebhookKeys"): json.dumps({"1": "w" * 64}),
    STACK.values["WeChatIssuerSecretArn"]: IssuerKeys.new(0).text(),
}
"""Secrets that functions read. The in-memory providers have no secrets."""


@dataclass
class Recorder:
    """Stand-in for the containers' clients that records each handler's calls."""

    requests: set[Access] = field(default_factory=set)
    dynamo: FakeDynamo = field(default_factory=FakeDynamo)
    messages: list[str] = field(default_factory=list)
    function: str = ""
    duck: Duck | None = None
    queries: dict[str, Found] = field(default_factory=dict)
    pictures: dict[str, dict[str, Any]] = field(default_factory=dict)

    def client(self, service: str) -> Any:
        return _Client(self, service)

    def note(self, service: str, operation: str, arguments: dict[str, Any]) -> Any:
        if service == "dynamodb":
            for place, seen in _of_dynamodb(operation, arguments):
                table, _, rest = place.partition("/")
                arn = STACK.arn(table.removeprefix(STACK.physical("")))
                resource = f"{arn}/{rest}" if rest else arn
                self.requests.add(Access(function=self.function, resource=resource, **seen))
            return getattr(self.dynamo, operation)(**arguments)
        if service == "sqs":
            name = arguments["QueueUrl"].rpartition("/")[2].removeprefix(STACK.physical(""))
            # A batch needs the same permission as a single message.
            action = operation.removesuffix("_batch").title().replace("_", "")
            self._add(f"sqs:{action}", STACK.arn(name))
            bodies = [arguments.get("MessageBody")]
            bodies += [each["MessageBody"] for each in arguments.get("Entries", [])]
            self.messages += [body for body in bodies if body]
            return {"Attributes": {"ApproximateNumberOfMessages": "0"}}
        runners = {
            "stepfunctions": self._run,
            "athena": self._queried,
            "s3": self._stored,
            "cloudwatch": self._counted,
        }
        if service in runners:
            return runners[service](operation, arguments)
        if service == "secretsmanager":
            self._add("secretsmanager:GetSecretValue", arguments["SecretId"])
            return {"SecretString": SECRETS[arguments["SecretId"]]}
        if operation == "invoke":
            self._add("lambda:InvokeFunction", arguments["FunctionName"])
            return {"Payload": BytesIO(self._invoked(arguments["Payload"]))}
        assert service == "kms"
        return self._signed(operation, arguments)

    def _stored(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Answer as the bucket for pictures."""
        arn, key = STACK.arn("PicturesBucket"), arguments.get("Key")
        assert arguments["Bucket"] == STACK.ref("PicturesBucket")
        self._add("s3:ListBucket", arn)  # Without it, S3 returns 403 for a missing object.
        if key is None:
            assert operation == "list_objects_v2"
            listed = [{"Key": each, "Size": 1} for each in self.pictures]
            return {"Contents": listed, "IsTruncated": False}
        does = {"get_object": "GetObject", "head_object": "GetObject", "put_object": "PutObject"}
        tags = ["PutObjectTagging"] if "Tagging" in arguments else []
        for action in (*([does[operation]] if operation in does else []), *tags):
            self._add(f"s3:{action}", f"{arn}/{key}")
        picture = self.pictures[key] = {**self.pictures.get(key, {}), **arguments}
        return {**picture, "Body": BytesIO(picture["Body"])}

    def _counted(self, operation: str, _arguments: dict[str, Any]) -> dict[str, Any]:
        """Answer as CloudWatch, which has one metric without data."""
        self._add(f"cloudwatch:{operation.title().replace('_', '')}", "*")
        dimensions = [{"Name": "code", "Value": "packet_emptied"}]
        return {"Metrics": [{"Dimensions": dimensions}], "MetricDataResults": []}

    def _run(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Answer as a state machine with one completed run."""
        resource = arguments.get("stateMachineArn") or arguments["executionArn"]
        self._add(f"states:{operation.title().replace('_', '')}", resource)
        has_ended = arguments.get("statusFilter") == "SUCCEEDED"
        executions = [{"name": "00"}] if has_ended else []
        # The execution has no events.
        return {"executions": executions, "status": "RUNNING", "output": "{}", "events": []}

    def _queried(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Answer as Athena."""
        place = f"{STACK.region}:{ACCOUNT}:workgroup/{STACK.ref('ReconcileWorkGroup')}"
        self._add(f"athena:{operation.title().replace('_', '')}", f"arn:aws:athena:{place}")
        if operation == "get_query_execution":
            return {"QueryExecution": {"Status": {"State": "SUCCEEDED"}}}
        if operation == "start_query_execution":
            return {"QueryExecutionId": self.query(arguments["QueryString"])}
        rows = self.queries[arguments["QueryExecutionId"]]
        data = [{"Data": [{"VarCharValue": column} for column in row]} for row in rows]
        return {"ResultSet": {"Rows": data}}

    def query(self, sql: str) -> str:
        """Run a query, and return its id."""
        assert self.duck
        query_id = str(len(self.queries))
        self.queries[query_id] = self.duck.named_rows(sql)
        return query_id

    def _signed(self, operation: str, arguments: dict[str, Any]) -> dict[str, bytes]:
        """Answer as the public log's KMS key."""
        assert arguments["KeyId"] == STACK.ref("LogKey")
        signer, is_sign = FakeSigner(), operation == "sign"
        self._add("kms:Sign" if is_sign else "kms:GetPublicKey", STACK.arn("LogKey"))
        message = arguments.get("Message", b"")
        return {"Signature": signer.sign(message), "PublicKey": signer.public_key()}

    def _invoked(self, payload: bytes) -> bytes:
        """Run OrderFunction when another function invokes it, and record its calls under its own
        name.
        """
        asking, self.function = self.function, "OrderFunction"
        answer = _handler("order")(json.loads(payload), _Context())
        self.function = asking
        return json.dumps(answer).encode()

    def _add(self, action: str, resource: str) -> None:
        self.requests.add(Access(self.function, action, resource))


class _Client:
    exceptions = FakeDynamo.exceptions

    def __init__(self, recorder: Recorder, service: str) -> None:
        self._recorder, self._service = recorder, service

    def __getattr__(self, operation: str) -> Any:
        return lambda **arguments: self._recorder.note(self._service, operation, arguments)


# ---- the handlers


class _Context:
    def get_remaining_time_in_millis(self) -> int:
        return 60_000


@dataclass
class Handlers:
    """Client that invokes the handlers with events like those of API Gateway, the queues, the
    stream and the schedules.
    """

    recorder: Recorder
    gateway: FakeGateway
    consents: FakeAuthorizations

    def ask(
        self, route: str, sub: str = "ann", body: Any = None, scope: str = "", **path: str
    ) -> dict[str, Any]:
        answer = self.hear(route, sub, body, scope, **path)
        assert answer["answered"] < 500, answer
        return answer

    def hear(
        self, route: str, sub: str = "ann", body: Any = None, scope: str = "", **path: str
    ) -> dict[str, Any]:
        """Send a request, and return the answer, whatever its status is."""
        query, key = path.pop("query", None), path.pop("key", None)
        issuer = STACK.values["OperatorIssuer" if scope else "JwtIssuer"]
        claims = {"sub": sub, "iss": issuer, "nickname": f"{sub} of the token"}
        claims |= {"scope": scope} if scope else {}
        event = {
            "routeKey": route,
            "pathParameters": path,
            "queryStringParameters": json.loads(query) if query else {},
            "headers": {"idempotency-key": key or uuid.uuid4().hex},
            "body": json.dumps(body) if body is not None else "",
            "requestContext": {"requestId": "1", "authorizer": {"jwt": {"claims": claims}}},
        }
        (handler,) = [
            each for each in HANDLERS if route in getattr(_handler(each), "operations", [])
        ]
        answer = self.call(handler, event)
        parsed: dict[str, Any] = json.loads(answer["body"]) if answer["body"] else {}
        return {**parsed, "answered": answer["statusCode"]}

    def operate(self, route: str, body: Any = None, **path: str) -> dict[str, Any]:
        answer = self.ask(route, "operator", body, SCOPE, **path)
        assert answer["answered"] < 300, answer
        return answer

    def call(self, handler: str, event: dict[str, Any]) -> Any:
        if self.recorder.function != _function_of(handler):
            _forget()  # No function has another function's in-memory state.
        self.recorder.function = _function_of(handler)
        return _handler(handler)(event, _Context())

    def settle(self) -> None:
        records = [
            {"messageId": str(number), "body": body, "attributes": {"SentTimestamp": "0"}}
            for number, body in enumerate(self._taken(is_claim=True))
        ]
        self.call("payout", {"Records": records})

    def sweep(self) -> None:
        self.call("expire", {})

    def reconcile(self) -> None:
        """Start a reconciliation run, and execute its steps as the state machine does."""
        self.operate("POST /admin/reconcile")
        self.operate("GET /admin/reconcile/{run_id}", run_id="00")
        run = Run("00", time.time_ns() // 1_000_000 + MOVING_MS)
        about = {"run_id": run.run_id, "database": "look", "first": None}
        window = {"asked_at_ms": run.exported_at_ms, "window_min_ms": 900_000, "is_full": False}
        about["export"] = self.call("reconcile", {**about, **window})
        queries: list[dict[str, str]] = []
        with TemporaryDirectory() as folder:
            names = {table: STACK.physical(f"{table.capitalize()}Table") for table in tables()}
            places = [
                {
                    "table": table,
                    "place": f"s3://{table}/",
                    "item_count": export(
                        Path(folder, table), self.recorder.dynamo.tables.get(name, {}).values()
                    ),
                }
                for table, name in names.items()
            ]
            planned = self.call("reconcile", {**about, "places": places, "reports": "reports"})
            _, *batches = planned["batches"]
            self.recorder.duck = Duck(Path(folder), run)
            for batch in batches:
                queries = [
                    {"name": each["name"], "query_id": self.recorder.query(each["sql"])}
                    for each in batch
                ]
        decision = {**about, "queries": queries}
        assert self.call("reconcile", decision)["is_whole"]

    def follow_notices(self) -> None:
        bodies = self._taken(is_claim=False)
        records = [{"messageId": str(number), "body": body} for number, body in enumerate(bodies)]
        assert self.call("transfer", {"Records": records}) == {"batchItemFailures": []}

    def _taken(self, *, is_claim: bool) -> list[str]:
        """Take the messages of the claim queue or of the notice queue, and return them."""
        sent = self.recorder.messages
        ours = [each for each in sent if "kind" in json.loads(each)]
        taken = [own for own in ours if (json.loads(own)["kind"] == SETTLE) == is_claim]
        self.recorder.messages = [each for each in sent if each not in taken]
        return taken

    def announce(self) -> None:
        """Pass the stream's records to the announcer, and its queued messages to the deliverer."""
        assert self.recorder.dynamo.stream
        self.call("announce", {"Records": self.recorder.dynamo.stream.take()})
        bodies = [message for message in self.recorder.messages if "webhook" in json.loads(message)]
        self.recorder.messages = [
            message for message in self.recorder.messages if message not in bodies
        ]
        records = [{"messageId": str(number), "body": body} for number, body in enumerate(bodies)]
        assert self.call("deliver", {"Records": records}) == {"batchItemFailures": []}

    def edit_cards(self) -> None:
        """Pass the chat function the messages of its queue, one of which must wait."""
        bodies = {
            each for each in self.recorder.messages if json.loads(each).keys() == {"packet_id"}
        }
        cards = [{"messageId": "1", "receiptHandle": "1", "body": each} for each in bodies]
        assert len(cards) == 2
        assert len(self.call("chat", {"Records": cards})["batchItemFailures"]) == 1

    def talk(self, user: int, chat_id: int, **update: Any) -> Any:
        """Let a Telegram user write a message or tap a button."""
        member = {"from": {"id": user, "first_name": f"m{user}"}}
        chat = {"chat": {"id": chat_id, "type": "supergroup", "title": "Team"}}
        if tap := update.pop("data", None):
            told = {**member, "id": "9", "data": tap, "message": {**chat, "message_id": 70}}
            body = {"callback_query": told}
        else:
            body = {"message": {**member, **chat, "message_id": 7, **update}}
        secret = {"X-Telegram-Bot-Api-Secret-Token": CHAT_SECRET["telegram_secret"]}
        about = {"routeKey": "POST /chat/telegram", "requestContext": {"requestId": "1"}}
        answer = self.call("chat", {**about, "headers": secret, "body": json.dumps(body)})
        assert answer["statusCode"] == 200, answer
        return json.loads(answer["body"])

    def transfer(self, task: str) -> Any:
        return self.call("transfer", {"task": task})

    def extend_log(self) -> None:
        """Call the log's function as the schedule does, so that it appends the waiting
        commitments.
        """
        assert self.call("log", {})["is_signed"]
        # Later, the stream names entries that already have their places in the log.
        record = {"dynamodb": {"Keys": {"pk": {"S": id_hash_of("newyear")}}}}
        assert self.call("log", {"Records": [record]})["appended_count"] == 0


class _Callbacks:
    """CallbackVerifier of a provider without signatures."""

    def read(self, headers: Any, body: bytes, now_ms: int) -> ProviderEvent:
        told = json.loads(body)
        return ProviderEvent(ProviderEventKind(told["kind"]), uuid.uuid4().hex, told["number"])


CHAT_SECRET = make_secret("http://127.0.0.1")


class _Telegram(HttpClient):
    """Chat platform that answers the bot, and throttles the bot's second edit."""

    def __init__(self) -> None:
        self._edits = 0

    def post(self, body: bytes, headers: Any) -> HttpAnswer:
        del headers
        self._edits += "message_id" in json.loads(body)
        if self._edits == 2:
            busy = {"ok": False, "parameters": {"retry_after": 30}}
            return HttpAnswer(429, {}, json.dumps(busy).encode())
        return HttpAnswer(200, {}, b'{"ok": true, "result": {"message_id": 70}}')


def _forget() -> None:
    vars(containers).clear()
    user_ids.cache_clear()
    packet_ids.cache_clear()


@pytest.fixture
def handlers(cache: OperatorCache, monkeypatch: pytest.MonkeyPatch) -> Iterator[Handlers]:
    recorder = Recorder()
    port = cache.connection_pool.connection_kwargs["port"]
    for function in STACK.of_type("AWS::Lambda::Function").values():
        for name, value in function["Environment"]["Variables"].items():
            monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("PACKET_ID_KEYS", PUBLISHED_KEYS)
    monkeypatch.setenv("USER_ID_KEY", PUBLISHED_KEY)
    monkeypatch.setenv("SEED_KEYS", PUBLISHED_SEED_KEYS)
    monkeypatch.setenv("CACHE_URL", f"redis://{HOST}:{port}")
    monkeypatch.setenv("CACHE_CREDENTIALS", "")
    monkeypatch.setenv("CLOSE_GRACE_S", "0")
    monkeypatch.setenv("RISK_VERDICTS", "true")
    monkeypatch.setattr(Platform, "aws", lambda _, service, **_options: recorder.client(service))
    monkeypatch.setenv("SIMULATOR_URL", "http://127.0.0.1")
    monkeypatch.setenv("CHAT_SECRET", json.dumps(CHAT_SECRET))
    telegram = _Telegram()
    environment = ConnectorEnvironment(CHAT_SECRET, lambda _url: telegram, SystemClock().now_ms)
    connected = {ConnectorName.TELEGRAM: ConnectorName.TELEGRAM.connect(environment)}
    monkeypatch.setattr(ChatContainer, "connectors", connected)
    recorder.dynamo.stream = FakeStream()
    gateway, logins = FakeGateway(SystemClock()), FakeLogins()
    consents = FakeAuthorizations(gateway)
    for name, made in {
        "providers_in": {ProviderName.WECHAT: FakePaymentsIn(gateway)},
        "providers_out": {ProviderName.WECHAT: FakePaymentsOut(gateway)},
        "consent_providers": {ProviderName.WECHAT: consents},
        "callbacks": {ProviderName.WECHAT: _Callbacks()},
        "logins": {ProviderName.WECHAT: logins},
    }.items():
        container, member = MEMBERS[name]
        monkeypatch.setattr(type(getattr(containers, container)), member, made)
    # Shard campaign packets, and store the position in a prize's stock after each count.
    monkeypatch.setattr(type(containers.packets), "shard_share_count", 1)
    monkeypatch.setattr("redpacket.lottery.dynamodb.unit_stock.NOTED_MIN", 0)
    _forget()
    yield Handlers(recorder, gateway, consents)
    _forget()


GIFT = {"kind": "equal", "total_fen": 100, "count": 1}


def _restart(cache: OperatorCache) -> None:
    """Empty the cache, and forget all process state."""
    cache.flushall()
    _forget()


def _tell_everything(handlers: Handlers, cache: OperatorCache) -> None:
    """Make the handlers use as many of their permissions as possible."""
    now_ms = time.time_ns() // 1_000_000
    handlers.operate("POST /admin/deposits", {"user": "ann", "amount_fen": 100_000})
    handlers.ask("PUT /me/profile", body={"nickname": "Ann", "avatar_url": None})
    tokens = {user: handlers.ask("GET /me", user)["user_token"] for user in ("ann", "bob", "cat")}

    # Send a plain packet, and flush the cache between two claims.
    order = {"kind": "lucky", "total_fen": 300, "count": 3}
    plain, again = (handlers.ask("POST /packets", body=order, key="plain") for _ in range(2))
    assert again == plain
    packet_id = plain["packet_id"]
    for step, body in (("grab", None), ("grab", None), ("thanks", {"emoji": "🙏", "text": "谢谢"})):
        handlers.ask(f"POST /packets/{{packet_id}}/{step}", "bob", body, packet_id=packet_id)
    _restart(cache)
    handlers.ask("POST /packets/{packet_id}/grab", "cat", packet_id=packet_id)
    for route in ("", "/feed", "/proof"):
        handlers.ask(f"GET /packets/{{packet_id}}{route}", packet_id=packet_id)
    handlers.ask("POST /packets/{packet_id}/grab", "ann", packet_id=packet_id)
    handlers.ask("POST /packets/{packet_id}/grab", "dan", packet_id=packet_id)
    handlers.settle()
    for route in ("", "/proof"):
        handlers.ask(f"GET /packets/{{packet_id}}{route}", packet_id=packet_id)

    ends_at_ms = _tell_of_a_rain(handlers, cache)

    # Send a two-step packet that some recipients may claim and that expires before it is empty.
    order = {"kind": "equal", "total_fen": 200, "count": 2, "opening": "two_step"}
    some = {"recipients": [tokens["bob"]], "expires_in_s": 1}
    path = {"packet_id": handlers.ask("POST /packets", body={**order, **some})["packet_id"]}
    token = handlers.ask("POST /packets/{packet_id}/grab", "bob", **path)["grab_token"]
    handlers.ask("POST /packets/{packet_id}/open", "bob", {"grab_token": token}, **path)
    # Send a packet that its sender ends early.
    ended = handlers.ask("POST /packets", body={**order, "opening": "one_step"})["packet_id"]
    handlers.ask("POST /packets/{packet_id}/end", packet_id=ended)
    # Use a packet whose send was interrupted before it reported the load, and claims without
    # messages.
    _lose_messages(handlers, {**order, "opening": "one_step"})
    time.sleep(max(1.1, (ends_at_ms + 100 - time.time_ns() // 1_000_000) / 1000))
    _restart(cache)
    handlers.sweep()
    # Switch payouts off for a while, so that arriving messages are queued again.
    handlers.operate("PUT /admin/switches/{name}", {"on": False, "reason": "a try"}, name="payout")
    _restart(cache)
    handlers.settle()
    assert handlers.recorder.messages
    handlers.operate("PUT /admin/switches/{name}", {"on": True}, name="payout")
    _restart(cache)
    handlers.settle()
    handlers.sweep()

    for page in ("sent", "received", "transfers", "notices"):
        handlers.ask(f"GET /me/{page}", "bob")
        handlers.ask(f"GET /me/{page}", "ann")
    handlers.operate("GET /admin/packets/{packet_id}/audit", packet_id=packet_id)
    _tell_of_limits(handlers)
    handlers.reconcile()
    _tell_of_a_campaign(handlers, cache, tokens, now_ms)
    handlers.operate("GET /me")
    handlers.operate("GET /admin/journal", query=json.dumps({"subject": "campaign:newyear"}))
    _tell_of_payments(handlers)
    _tell_of_an_erasure(handlers)
    _tell_of_chats(handlers, cache)
    _tell_hosts(handlers)
    _tell_of_the_log(handlers, packet_id)


def _cover(handlers: Handlers, user: str = "ann") -> str:
    """Upload a picture, and return its path."""
    upload = {"picture": b64encode(jpeg()).decode()}
    return str(handlers.ask("POST /me/pictures", user, upload)["cover_url"])


def _lose_messages(handlers: Handlers, order: dict[str, Any]) -> None:
    """Change rows so that the sweep loads a packet, stores its cover, and queues its claims
    again.
    """
    covered = {**order, "cover_url": _cover(handlers)}
    packet_id = handlers.ask("POST /packets", body=covered)["packet_id"]
    packets, shares = (
        handlers.recorder.dynamo.tables[STACK.physical(name)]
        for name in ("PacketsTable", "SharesTable")
    )
    waits = {"work_pk": {"S": keys.work("load", 0)}, "work_at_ms": {"N": "0"}}
    key = f"packet#{packet_id}", packet_keys.PACKET
    packets[key] = {**packets[key], **waits}
    for key, row in list(shares.items()):
        shares[key] = {**row, **({"work_at_ms": {"N": "0"}} if "work_at_ms" in row else {})}


def _tell_of_a_rain(handlers: Handlers, cache: OperatorCache) -> int:
    """Shorten a campaign with a packet; return the time at which both end."""
    handlers.ask(
        "POST /admin/deposits", "other", {"user": "operator", "amount_fen": 100_000}, SCOPE
    )
    starts_at_ms = time.time_ns() // 1_000_000
    ends_at_ms = starts_at_ms + 2_000
    window = {"starts_at_ms": starts_at_ms, "ends_at_ms": ends_at_ms + 60_000}
    path = {"campaign_id": "shower"}
    plan = {"title": "shower", **window, "budget_fen": 300, "status": "on"}
    handlers.operate("PUT /admin/campaigns/{campaign_id}", plan, **path)
    packet = {"kind": "lucky", "total_fen": 300, "count": 2}
    # The largest share of a packet that this role sends counts toward the approval limit.
    order = {**packet, "campaign_id": "shower"}
    rain = handlers.ask("POST /admin/packets", "operator", order, "hongbao/operate")
    handlers.operate("POST /admin/campaigns/{campaign_id}/preheat", **path)
    _restart(cache)
    handlers.ask("POST /packets/{packet_id}/grab", "cat", packet_id=rain["packet_id"])
    drizzle, drops = {"campaign_id": "drizzle"}, {"rounds": 1, "packets": 1, "seconds": 10}
    soon = {**drops, "starts_at_ms": starts_at_ms + 9_000, "total_fen": 100, "count": 1}
    handlers.operate("PUT /admin/campaigns/{campaign_id}", plan, **drizzle)
    handlers.operate("POST /admin/campaigns/{campaign_id}/rains", soon, **drizzle)
    # Record a round with this packet, so that the page shows a podium.
    played = campaign_keys.rain("shower", f"{starts_at_ms:013d}#played")
    rounds = json.dumps([[starts_at_ms - 1, starts_at_ms, rain["packet_id"]]])
    row: Row = {**played, "rounds": rounds}
    campaigns = handlers.recorder.dynamo.tables[STACK.physical("CampaignsTable")]
    campaigns[played["pk"], played["sk"]] = to_wire(row)
    podium = handlers.ask("GET /campaigns/{campaign_id}", **path)["rains"][0]["podium"]
    assert len(podium) == 1
    shorter = {**plan, "ends_at_ms": ends_at_ms}
    handlers.operate("PUT /admin/campaigns/{campaign_id}", shorter, **path)
    return ends_at_ms


def _tell_of_the_log(handlers: Handlers, packet_id: str) -> None:
    handlers.extend_log()
    page = handlers.ask("GET /transparency")
    assert page["size"] == len(page["items"]) > 3
    for subject in (packet_id, "newyear"):
        query = json.dumps({"id_hash": id_hash_of(subject)})
        assert handlers.ask("GET /transparency/proof", query=query)["answered"] == 200
    assert handlers.ask("GET /transparency/consistency", query=json.dumps({"from": "1"}))["path"]
    handlers.reconcile()


def _tell_hosts(handlers: Handlers) -> None:
    """Send all events to a receiver whose port is closed."""
    path = {"name": "shop"}
    target = {"url": f"http://{HOST}:9/events", "events": list(SUBSCRIBED)}
    handlers.operate("PUT /admin/webhooks/{name}", target, **path)
    handlers.operate("PUT /admin/webhooks/{name}", target, **path)
    unreadable = {"eventName": "INSERT", "dynamodb": {"NewImage": {"sk": {"S": "packet"}}}}
    handlers.call("announce", {"Records": [unreadable]})
    handlers.announce()
    _revoke_the_chat(handlers)
    handlers.call("deliver", {"task": "retry"})
    for part in ("test", "secret", "replay"):
        handlers.operate(f"POST /admin/webhooks/{{name}}/{part}", **path)
    handlers.operate("GET /admin/webhooks")
    handlers.operate("GET /admin/webhooks/{name}", **path)


def _tell_of_listed_returns(handlers: Handlers) -> None:
    """Resolve two listed returns: one outside the system, and one by a deposit."""
    outside = {"by": "outside", "reference": "bank-1", "reason": "his"}
    handlers.operate("POST /admin/payments/returns", {**_listed_return(handlers)[0], **outside})
    named, amount = _listed_return(handlers)
    handlers.operate("POST /admin/deposits", amount)
    handlers.operate("POST /admin/payments/returns", {**named, "by": "deposit", "reason": "hers"})


def _listed_return(handlers: Handlers) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the ids of a new listed return, and the deposit that would settle it."""
    by_code = {"amount_fen": 1_000, "channel": "wechat", "method": "native"}
    number = handlers.ask("POST /me/payments", "eve", by_code)["payment_id"]
    handlers.gateway.pay(number, amount_fen=999)
    handlers.ask("POST /gateway/wechat/callback", body={"kind": "payment", "number": number})
    handlers.follow_notices()
    (listed,) = handlers.operate("GET /admin/payments/returns")["items"]
    amount = {"user": "eve", "amount_fen": 999, "case": listed["transaction_id"]}
    return {name: listed[name] for name in ("payment_id", "transaction_id")}, amount


def _tell_of_campaign_money(handlers: Handlers) -> None:
    """Move the unspent campaign money of a user, and unmark the account."""
    for user in ("chest", "till"):
        deposit = {"user": user, "amount_fen": 100, "is_for_campaigns": True}
        waits = handlers.operate("POST /admin/deposits", deposit)["approval_id"]
        handlers.ask(f"{APPROVALS}/approve", "other", None, SCOPE, approval_id=waits)
    route, move = "/admin/accounts/{user}/campaign-money", {"user": "till", "reason": "over"}
    handlers.operate(f"POST {route}", move, user="chest")
    handlers.operate(f"DELETE {route}", user="chest")


def _tell_of_payments(handlers: Handlers) -> None:
    gateway = handlers.gateway
    by_code = {"amount_fen": 1_000, "channel": "wechat", "method": "native"}
    payment = handlers.ask("POST /me/payments", "eve", by_code)
    number = payment["payment_id"]
    gateway.pay(number)
    callback = {"kind": "payment", "number": number}
    handlers.ask("POST /gateway/wechat/callback", body=callback)
    handlers.follow_notices()
    path = {"payment_id": number}
    assert handlers.ask("GET /me/payments/{payment_id}", "eve", **path)["status"] == "paid"
    # Pay again, so that the second transaction is returned; refund a part in the provider's
    # console.
    gateway.pay(number, is_forced=True)
    gateway.refund_outside(number, 100)
    handlers.ask("POST /gateway/wechat/callback", body=callback)
    told = {"kind": "refund", "number": gateway.lines(StatementKind.REFUND)[0].number}
    handlers.ask("POST /gateway/wechat/callback", body=told)
    handlers.follow_notices()

    assert handlers.ask("POST /me/wechat", "eve", {"code": "code-eve"})["is_bound"]
    handlers.ask("POST /me/wechat", "eve", {"code": "code-eva"})
    assert handlers.ask("GET /me/wechat", "eve")["is_bound"]
    handlers.ask("POST /me/wechat/authorization", "eve", {"display_name": "Eve"})
    handlers.ask("DELETE /me/wechat/authorization", "eve")
    handlers.ask("POST /auth/wechat", body={"code": "code-fay"})

    handlers.ask("POST /me/wechat", "gil", {"code": "code-gil"})
    own = {"amount_fen": 900, "channel": "wechat", "method": "jsapi"}
    gateway.pay(handlers.ask("POST /me/payments", "gil", own)["payment_id"])
    handlers.transfer("sweep")
    withdrawn = [
        handlers.ask("POST /me/withdrawals", "gil", {"amount_fen": 100, "channel": "wechat"})
        for _ in range(2)
    ]
    path = {"withdrawal_id": withdrawn[0]["withdrawal_id"]}
    handlers.ask("POST /me/withdrawals/{withdrawal_id}/cancel", "gil", **path)
    handlers.transfer("dispatch")
    handlers.transfer("sweep")
    handlers.ask("GET /me/withdrawals/{withdrawal_id}", "gil", **path)
    assert len(handlers.ask("GET /me/withdrawals", "gil")["items"]) == 2

    order = {"kind": "equal", "total_fen": 200, "count": 2, "pay_with": "wechat"}
    packet = handlers.ask("POST /packets", "gil", {**order, "cover_url": _cover(handlers, "gil")})
    assert packet["status"] == "unpaid"
    assert packet["wechat"]
    gateway.pay(packet["payment_id"])
    handlers.transfer("sweep")
    handlers.ask("POST /packets/{packet_id}/grab", "eve", packet_id=packet["packet_id"])
    _tell_of_an_unpaid_end(handlers, order)
    _tell_of_a_payout(handlers, packet["packet_id"])
    handlers.transfer("compare_bills")
    _tell_of_listed_returns(handlers)
    _tell_of_campaign_money(handlers)
    handlers.operate("GET /admin/payments/debts")
    handlers.operate("GET /admin/withdrawals")
    handlers.operate("GET /admin/withdrawals", query=json.dumps({"user": "gil"}))
    handlers.operate("GET /admin/withdrawals/{withdrawal_id}", **path)
    handlers.reconcile()


def _tell_of_chats(handlers: Handlers, cache: OperatorCache) -> None:
    """Send and claim as a group's members, by commands and text messages; then move the group."""
    group, new_group = -100, -200
    path = {"connector": "telegram", "chat_id": str(group)}
    handlers.talk(1, group, text="/help")
    for title in ("Team", "Team A"):
        chat = {"title": title, "day_fen": 10_000}
        handlers.operate("PUT /admin/chats/{connector}/{chat_id}", chat, **path)
    assert len(handlers.operate("GET /admin/chats")["items"]) == 1
    handlers.operate("POST /admin/deposits", {"user": "telegram:1", "amount_fen": 10_000})
    for number, link in ((7, "+link"), (7, "+link"), (8, "")):
        handlers.talk(1, group, text=f"/hongbao 8.88 2 hi {link}", message_id=number)
    packets = handlers.recorder.dynamo.tables[STACK.physical("ChatTable")]
    sent = [key[0].removeprefix("card#") for key in packets if key[0].startswith("card#")]
    assert len(sent) == 2
    for user in (1, 1, 2):
        assert "¥" in handlers.talk(user, group, data=sent[0])["text"]
    _restart(cache)
    handlers.talk(1, group, data=sent[1])
    handlers.talk(1, group, text="/balance")
    handlers.talk(1, group, text="hi", reply_to_message={"message_id": 70})
    handlers.settle()
    handlers.talk(1, group, migrate_to_chat_id=new_group)
    handlers.talk(2, new_group, data=sent[1])


def _revoke_the_chat(handlers: Handlers) -> None:
    """Edit the cards of a group, then revoke its admission."""
    handlers.edit_cards()
    path = {"connector": "telegram", "chat_id": "-100"}
    handlers.operate("DELETE /admin/chats/{connector}/{chat_id}", **path)


def _tell_of_an_unpaid_end(handlers: Handlers, order: dict[str, Any]) -> None:
    path = {"packet_id": handlers.ask("POST /packets", "gil", order)["packet_id"]}
    handlers.operate("POST /admin/packets/{packet_id}/end", {"reason": "sent twice"}, **path)
    assert handlers.ask("GET /packets/{packet_id}", "gil", **path)["status"] == "cancelled"


def _tell_of_an_erasure(handlers: Handlers) -> None:
    """Give a user payments, packets, pictures and lists; empty the account, and erase the user."""
    handlers.ask("POST /me/wechat", "hal", {"code": "code-hal"})
    handlers.ask("POST /me/wechat/authorization", "hal", {"display_name": "Hal"})
    own = {"amount_fen": 900, "channel": "wechat", "method": "jsapi"}
    handlers.gateway.pay(handlers.ask("POST /me/payments", "hal", own)["payment_id"])
    handlers.transfer("sweep")
    out = {"amount_fen": 100, "channel": "wechat"}
    held = handlers.ask("POST /me/withdrawals", "hal", out)["withdrawal_id"]
    handlers.ask("POST /me/withdrawals/{withdrawal_id}/cancel", "hal", withdrawal_id=held)
    # The provider is queried before the money returns.
    handlers.transfer("sweep")
    handlers.operate("POST /admin/pictures", {"picture": b64encode(jpeg()).decode()})
    cover = _cover(handlers, "hal")
    picture_id = cover.rpartition("/")[2]
    gift = {"packet_id": handlers.ask("POST /packets", body=GIFT)["packet_id"]}
    handlers.ask("POST /packets/{packet_id}/grab", "hal", **gift)
    thanks = {"emoji": "🙏", "text": "hal says thanks"}
    handlers.ask("POST /packets/{packet_id}/thanks", "hal", thanks, **gift)
    handlers.operate("DELETE /admin/packets/{packet_id}/thanks/{share_no}", **gift, share_no="1")
    handlers.settle()
    order = {"kind": "equal", "total_fen": 1_000, "count": 1, "cover_url": cover}
    packet_id = handlers.ask("POST /packets", "hal", order)["packet_id"]
    shown = {"routeKey": "GET /pictures/{picture_id}", "pathParameters": {"picture_id": picture_id}}
    shown |= {"requestContext": {"requestId": "1"}}
    assert handlers.call("records", shown)["statusCode"] == 200
    erase = "DELETE /admin/users/{user}"
    assert handlers.ask(erase, "operator", None, SCOPE, user="hal")["code"] == "account_not_empty"
    handlers.ask("POST /packets/{packet_id}/grab", "bob", packet_id=packet_id)
    handlers.ask("POST /packets/{packet_id}/thanks", "bob", {"emoji": "🙏"}, packet_id=packet_id)
    assert handlers.ask("GET /me/notices", "hal")["unread"] == 1
    handlers.settle()
    listed = {"add": ["hal"]}
    audience = "/admin/campaigns/{campaign_id}/audience"
    handlers.operate(f"POST {audience}", listed, campaign_id="newyear")
    handlers.operate(f"GET {audience}/{{user}}", campaign_id="newyear", user="bob")
    verdict = {"user": "hal", "verdict": "deny", "until_ms": time.time_ns() // 1_000_000 + 60_000}
    handlers.operate("POST /admin/risk", verdict)
    handlers.operate(erase, user="hal")
    assert handlers.recorder.pictures[picture_id]["Body"] == b""
    assert "hal says" not in str(handlers.recorder.dynamo.tables)
    assert "'hal'" not in str([dict(table) for table in handlers.recorder.dynamo.tables.values()])


def _tell_of_a_payout(handlers: Handlers, packet_id: str) -> None:
    """Let a claim trigger an automatic payout of the claimer's balance."""
    handlers.ask("POST /me/wechat/authorization", "gil", {"display_name": "Gil"})
    number = handlers.consents.requests[-1]
    handlers.gateway.agree(number)
    told = {"kind": "authorization", "number": number}
    handlers.ask("POST /gateway/wechat/callback", body=told)
    handlers.follow_notices()
    handlers.ask("POST /packets/{packet_id}/grab", "gil", packet_id=packet_id)
    handlers.settle()
    # The notice waits while withdrawals are off.
    for is_on in (False, True):
        turned = {"on": is_on, "reason": "a try"}
        handlers.operate("PUT /admin/switches/{name}", turned, name="withdraw")
        handlers.follow_notices()
    assert len(handlers.ask("GET /me/withdrawals", "gil")["items"]) == 3


def _tell_of_limits(handlers: Handlers) -> None:
    # A refused send looks for an earlier send with the same key.
    refused = handlers.ask("POST /packets", body={"kind": "lucky", "total_fen": 2, "count": 3})
    assert refused["code"] == "split_impossible"
    for value in (9, None):
        handlers.operate("PUT /admin/limits/{name}", {"value": value}, name="payouts_at_once")
    for name in ("limits", "switches"):
        handlers.operate(f"GET /admin/{name}")
    handlers.operate("GET /admin/refusals")


def _tell_of_a_campaign(
    handlers: Handlers, cache: OperatorCache, tokens: dict[str, str], now_ms: int
) -> None:
    path = {"campaign_id": "newyear"}
    plan = {
        "title": "New Year",
        "starts_at_ms": now_ms - 60_000,
        "ends_at_ms": now_ms + 3_600_000,
        "status": "on",
        "budget_fen": 10_000,
        "quota_per_user": 2,
        "passphrase": "happy",
        "rules": {"attempts_per_user_per_day": 3, "helps_per_user_per_day": 1},
    }
    handlers.operate("PUT /admin/campaigns/{campaign_id}", plan, **path)
    listed = {"add": ["bob", "cat", "dan"], "remove": ["eve"], "mode": "allow"}
    for _ in range(2):
        handlers.operate("POST /admin/campaigns/{campaign_id}/audience", listed, **path)
    verdict = {"user": "eve", "verdict": "deny", "until_ms": now_ms + 60_000}
    handlers.operate("POST /admin/risk", verdict)
    order = {"kind": "equal", "total_fen": 200, "count": 2, "campaign_id": "newyear"}
    rains = [handlers.ask("POST /packets", "operator", order, SCOPE)["packet_id"] for _ in range(3)]
    via = {"via": tokens["cat"]}
    for packet_id in rains:  # There is one packet more than the user's quota allows.
        handlers.ask("POST /packets/{packet_id}/grab", "bob", via, packet_id=packet_id)
    handlers.operate("POST /admin/campaigns/{campaign_id}/preheat", **path)
    cash = {"title": "Cash", "kind": "packet", "weight": 100, "total": 5, "amount_fen": 10}
    goods = {"title": "Tea", "kind": "goods", "weight": 50, "total": 5}
    prizes = {"cash": cash, "tea": goods}
    for prize_id, prize in prizes.items():
        handlers.operate(f"PUT {PRIZE}", prize, **path, prize_id=prize_id)
    for prize_id in prizes:
        handlers.operate(f"POST {PRIZE}/stock", {"delta": 1}, **path, prize_id=prize_id)
    _restart(cache)
    for user in ("bob", "cat", "dan"):
        for _ in range(3):
            handlers.ask("POST /campaigns/{campaign_id}/draws", user, **path)
    help_them = {"inviter_token": tokens["bob"], "transcript": "happy"}
    handlers.ask("POST /campaigns/{campaign_id}/helps", "cat", help_them, **path)
    handlers.settle()
    for route in ("", "/draws"):
        handlers.ask(f"GET /campaigns/{{campaign_id}}{route}", "bob", **path)
    day = time.strftime("%Y%m%d", time.gmtime())
    handlers.ask(
        "GET /campaigns/{campaign_id}/proof", "bob", query=json.dumps({"day": day}), **path
    )
    handlers.operate("GET /admin/campaigns/{campaign_id}", **path)
    for name in ("campaigns", "packets", "journal"):
        assert handlers.operate(f"GET /admin/{name}")["items"]
    for filters in ({"campaign_id": "newyear"}, {"sender": "operator"}):
        assert handlers.operate("GET /admin/packets", query=json.dumps(filters))["items"]
    claims = handlers.operate("GET /admin/packets/{packet_id}/claims", packet_id=rains[0])
    assert [claim["user"] for claim in claims["items"]] == ["bob"]
    sharers = handlers.operate("GET /admin/packets/{packet_id}/sharers", packet_id=rains[0])
    assert [sharer["user_token"] for sharer in sharers["items"]] == [tokens["cat"]]
    _tell_of_winners(handlers, path)
    _tell_of_codes(handlers, plan)
    _tell_of_approvals(handlers, plan)
    # Edit the campaign again, with the approved budget.
    edited = {**plan, "title": "Newer", "budget_fen": APPROVED_FEN}
    edited["ends_at_ms"] = now_ms + 7_200_000
    handlers.operate("PUT /admin/campaigns/{campaign_id}", edited, **path)


def _tell_of_codes(handlers: Handlers, plan: dict[str, Any]) -> None:
    """Add a code, let a user win it, and let the winner read it."""
    path = {"campaign_id": "vouchers"}
    plan = {**plan, "budget_fen": 0, "miss_weight": 0}
    handlers.operate("PUT /admin/campaigns/{campaign_id}", plan, **path)
    prize = {"title": "Voucher", "kind": "code", "weight": 1, "total": 0}
    handlers.operate(f"PUT {PRIZE}", prize, **path, prize_id="voucher")
    for codes in (["TEA-1"], ["TEA-1", "TEA-2"]):
        added = handlers.operate(f"POST {PRIZE}/codes", {"add": codes}, **path, prize_id="voucher")
        assert added["total"] == len(codes)
    answer = handlers.ask("POST /campaigns/{campaign_id}/draws", "fay", **path)
    assert answer["code"] == "TEA-1"


def _tell_of_approvals(handlers: Handlers, plan: dict[str, Any]) -> None:
    """Let deposits, budgets and cash wait for another operator, who approves and rejects."""
    large = APPROVED_FEN
    path = {"campaign_id": "newyear"}
    prize = {"title": "More", "kind": "packet", "weight": 1, "total": 20_000, "amount_fen": 20_000}
    # An edit to a later end reads the packets of cash prizes.
    budget = {**plan, "budget_fen": large, "ends_at_ms": plan["ends_at_ms"] + 60_000}
    edit, put = "PUT /admin/campaigns/{campaign_id}", "/prizes/{prize_id}"
    # This campaign starts later, because large sums of cash are added before the start.
    later = {"campaign_id": "later"}
    handlers.operate(
        edit, {**plan, "budget_fen": 0, "starts_at_ms": plan["ends_at_ms"] - 1}, **later
    )
    handlers.operate(edit + put, {**prize, "total": 1}, **later, prize_id="dear")
    deposit = {"user": "ann", "amount_fen": large}
    approvals = [
        handlers.operate("POST /admin/deposits", deposit, key="twice"),
        handlers.operate("POST /admin/deposits", {"user": "bob", "amount_fen": large}),
        handlers.operate(edit, budget, **path),
        handlers.operate(edit, budget, campaign_id="newer"),
        handlers.operate(edit + put, {**prize, "total": 51}, **later, prize_id="more"),
        handlers.operate(f"POST{edit[3:]}{put}/stock", {"delta": 10_000}, **later, prize_id="dear"),
    ]
    # Each retry reads the first request.
    repeats = [
        handlers.operate("POST /admin/deposits", deposit, key="twice"),
        handlers.operate(edit, budget, campaign_id="newer"),
        handlers.operate(edit + put, {**prize, "total": 51}, **later, prize_id="more"),
    ]
    assert repeats == [approvals[0], *approvals[3:5]]
    assert {each["answered"] for each in approvals} == {202}
    listed = handlers.operate("GET /admin/approvals")["items"]
    assert [each["status"] for each in listed].count("awaiting") == len(approvals)
    deposit = {"user": "operator", "amount_fen": 990_000}
    for operator in ("other", "third"):
        handlers.ask("POST /admin/deposits", operator, deposit, SCOPE)
    first, deposit_id, *others = (each["approval_id"] for each in approvals)
    # Decide on cash before the new end, which would invalidate its approval.
    others = [deposit_id, others.pop(2), *others]
    reject = f"{APPROVALS}/reject"
    assert handlers.ask(reject, "other", None, SCOPE, approval_id=first)["status"] == "rejected"
    for number, approval_id in enumerate(others):
        answer = handlers.ask(f"{APPROVALS}/approve", "other", None, SCOPE, approval_id=approval_id)
        # The added stock of cash costs more than the operator's balance.
        assert answer["answered"] in ({200} if number < 4 else {402, 409, 422}), answer


def _tell_of_winners(handlers: Handlers, path: dict[str, str]) -> None:
    """Let users win goods; hand one unit over, and forfeit another."""
    only = {"title": "Tea", "kind": "goods", "weight": 10**6, "total": 6, "status": "on"}
    handlers.operate(f"PUT {PRIZE}", only, **path, prize_id="tea")
    handlers.ask("POST /campaigns/{campaign_id}/draws", "eve", **path)
    won = handlers.operate("GET /admin/campaigns/{campaign_id}/winners", **path)["items"]
    assert {each["user"] for each in won} <= {"bob", "cat", "dan", "eve"}
    winner = won[0]["user"]
    mine = handlers.ask("GET /campaigns/{campaign_id}/draws", winner, **path)["items"]
    ids = [each["draw_id"] for each in mine if each["prize"] and each["prize"]["kind"] == "goods"]
    place, at = "/campaigns/{campaign_id}/draws/{draw_id}/address", {**path, "draw_id": ids[0]}
    home = {"name": "Eve", "phone": "13800138000", "address": "Nanjing Road 1"}
    handlers.ask(f"PUT {place}", winner, home, **at)
    assert handlers.ask(f"GET {place}", winner, **at)["name"] == "Eve"
    for unit_won, status in zip(won[:2], ("handed_over", "forfeited"), strict=True):
        route = "PUT /admin/campaigns/{campaign_id}/winners/{unit}"
        decided = handlers.operate(route, {"status": status}, **path, unit=unit_won["unit"])
        assert decided["status"] == status


# Permissions that the scenario does not use, or that come from a statement shared by functions.
UNUSED = """\
ChatFunction.ClaimShare via
DeliverFunction.KeepDeliveries last_success
DeliverFunction.KeepDeliveries slow_until_ms
DeliverFunction.ReadDeliveries dynamodb:BatchGetItem
ExpireFunction.BookShares placed_at_ms
LotteryFunction.ClaimShare is_last
LotteryFunction.ClaimShare via
LotteryFunction.ReadShares dynamodb:BatchGetItem
LotteryFunction.ReadShares dynamodb:GetItem
OrderFunction.BeginPayments payer_hash
OrderFunction.BeginPayments payer_sealed
OrderFunction.OrderPayments closed_at_ms
OrderFunction.OrderPayments work_pk
PaymentFunction.KeepPayments dynamodb:ConditionCheckItem
PaymentFunction.KeepPayments dynamodb:Query
PaymentFunction.PostPayments commitment
PaymentFunction.ReadPaidPackets dynamodb:GetItem
TransferFunction.KeepPayments dynamodb:BatchGetItem
TransferFunction.OpenAndCancelPackets closed_at_ms
WebhooksFunction.EditWebhooks dynamodb:BatchGetItem"""


def _unused(accesses: set[Access]) -> set[str]:
    """Return the granted permissions that neither the function nor Lambda itself uses."""
    granted = set()
    # ReconcileFunction uses some permissions only to confirm differences, and there are none here.
    for function in {each.function for each in accesses} - {"ReconcileFunction"}:
        for statement in statements(STACK, function):
            used = [
                each for each in accesses if each.function == function and allows(statement, each)
            ]
            named = statement.get("Condition", {}).get("ForAllValues:StringEquals", {})
            rights = {*statement["Action"], *named.get("dynamodb:Attributes", ())} - OF_SOURCES
            rights -= {each.action for each in used}.union(*(each.attributes for each in used))
            granted |= {f"{function}.{statement['Sid']} {right}" for right in rights}
    return granted


def test_whatever_a_handler_asks_its_role_allows(handlers: Handlers, cache: OperatorCache) -> None:
    _tell_everything(handlers, cache)
    accesses = handlers.recorder.requests

    refused = [str(each) for each in accesses if not may(STACK, each)]

    assert len(accesses) > 60
    assert refused == []
    assert sorted(_unused(accesses)) == UNUSED.split("\n")
    assert {each.function for each in accesses} == {_function_of(handler) for handler in HANDLERS}


def test_what_is_not_granted_is_noticed() -> None:
    claim, update, shares = ("pk", "sk", "fate"), "dynamodb:UpdateItem", STACK.arn("SharesTable")

    assert _may("GrabFunction", update, shares, *claim)
    assert not _may("GrabFunction", update, shares, *claim, "settled_at_ms")
    assert not _may("GrabFunction", update, shares, *claim, "refund_no")
    assert not _may("GrabFunction", "dynamodb:PutItem", shares, *claim)
    assert not _may("GrabFunction", update, STACK.arn("PacketsTable"), *claim)
    assert not _may("GrabFunction", "dynamodb:GetItem", STACK.arn("AccountsTable"), *claim)


OF_SOURCES = {
    *("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"),
    *("dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"),
    "dynamodb:ListStreams",
}
"""Actions that Lambda itself needs to poll a function's queue or stream."""


def test_whom_a_queue_or_a_stream_calls_may_read_it() -> None:
    for source in STACK.of_type("AWS::Lambda::EventSourceMapping").values():
        queue = source["EventSourceArn"]
        alias = source["FunctionName"].rpartition(":")[2].removeprefix(STACK.physical(""))
        function = alias.removesuffix("Aliaslive")
        table = queue.removeprefix(STACK.physical("")).removesuffix(".StreamArn")
        for action in OF_SOURCES:
            if action.startswith("sqs") == (":sqs:" in queue):
                is_list = action == "dynamodb:ListStreams"
                access = Access(
                    function, action, f"{STACK.arn(table)}/stream/*" if is_list else queue
                )
                assert may(STACK, access), str(access)


def test_an_operators_verdict_makes_nobody_a_member() -> None:
    update = ("AdminFunction", "dynamodb:UpdateItem", STACK.arn("AudienceTable"), "pk", "sk")

    assert [_may(*update, name) for name in ("denied_until_ms", "users")] == [True, False]


def test_a_role_may_add_to_the_journal_and_change_nothing_there() -> None:
    audit_table = STACK.arn("JournalTable")
    granted = {
        (function, action)
        for function in STACK.of_type("AWS::Lambda::Function")
        for statement in statements(STACK, function)
        for resource in [statement["Resource"]]
        for action in statement["Action"]
        if any(
            name.startswith(audit_table)
            for name in ([resource] if isinstance(resource, str) else resource)
        )
    }
    writers = {"SendFunction", "CampaignFunction", "PrizeFunction", "AdminFunction"}
    writers |= {"WebhooksFunction", "ErasureFunction", "PaymentFunction"}

    assert granted == {
        ("AdminFunction", "dynamodb:Query"),
        # The function reads the table's stream, which contains only keys of changed rows.
        ("AnnounceFunction", "dynamodb:ListStreams"),
        ("ReconcileFunction", "dynamodb:PutItem"),
        ("ApprovalFunction", "dynamodb:PutItem"),
        *((writer, "dynamodb:PutItem") for writer in writers),
    }
    assert "TimeToLiveSpecification" not in STACK.of_type("AWS::DynamoDB::Table")["JournalTable"]


def test_only_one_function_writes_the_log_and_signs_and_who_commits_gives_no_place() -> None:
    log, commitments, key = (STACK.arn(n) for n in ("LogTable", "CommitmentsTable", "LogKey"))

    for function in STACK.of_type("AWS::Lambda::Function"):
        is_logs = function == "LogFunction"
        assert _may(function, "dynamodb:PutItem", log, "pk", "sk", "root") is is_logs
        assert not _may(function, "dynamodb:UpdateItem", log, "pk", "sk", "root")
        assert _may(function, "kms:Sign", key) is is_logs
        granted = [
            statement
            for statement in statements(STACK, function)
            if "kms:" in str(statement["Action"])
        ]
        assert len(granted) == is_logs
        committing = ("SendFunction", "CampaignFunction", "ApprovalFunction", "ChatFunction")
        commits = function in committing
        put, update = "dynamodb:PutItem", "dynamodb:UpdateItem"
        assert _may(function, put, commitments, "pk", "commitment", "work_pk") is commits
        assert not _may(function, put, commitments, "pk", "commitment", "log_index")
        assert _may(function, update, commitments, "pk", "log_index") is is_logs
        assert not _may(function, update, commitments, "pk", "commitment")


def test_who_asks_for_an_approval_can_not_decide_about_it() -> None:
    approvals = STACK.arn("ApprovalsTable")

    kinds = {"AdminFunction": "01", "CampaignFunction": "2", "PrizeFunction": "34"}
    for function, digits in kinds.items():
        asks = Access(
            *(function, "dynamodb:PutItem", approvals, frozenset({"pk", "asked"})),
            partitions=frozenset({f"approval#{digits[0]}1"}),
        )
        for digit in "0123456789abcdef":
            # The digit identifies the kind of approval, and is part of the sealed id.
            of_a_kind = replace(asks, partitions=frozenset({f"approval#{digit}1"}))
            assert may(STACK, of_a_kind) is (digit in digits)
        for decision in ("status", "is_applied", "decided_by"):
            assert not may(STACK, replace(asks, attributes=asks.attributes | {decision}))
        assert not may(STACK, replace(asks, action="dynamodb:UpdateItem"))
        assert _may(function, "dynamodb:UpdateItem", approvals, "pk", "moved_fen")
    assert _may("ApprovalFunction", "dynamodb:UpdateItem", approvals, "pk", "status", "decided_by")
    assert not _may("ApprovalFunction", "dynamodb:PutItem", approvals, "pk")


def test_who_erases_can_move_no_money() -> None:
    def erasure_may(action: str, table: str, *attributes: str) -> bool:
        return _may("ErasureFunction", action, STACK.arn(table), *attributes)

    assert erasure_may("dynamodb:UpdateItem", "PaymentsTable", "pk", "sk", "payer_sealed")
    for attribute in ("amount_fen", "withdrawal_status", "transaction_id", "lease_until_ms"):
        assert not erasure_may("dynamodb:UpdateItem", "PaymentsTable", "pk", "sk", attribute)
    for table in ("AccountsTable", "PacketsTable", "SharesTable", "JournalTable"):
        assert not erasure_may("dynamodb:UpdateItem", table, "pk")
    for table in ("AccountsTable", "PacketsTable", "SharesTable", "PaymentsTable"):
        assert not erasure_may("dynamodb:PutItem", table, "pk")
        assert not erasure_may("dynamodb:DeleteItem", table, "pk")


def test_no_role_has_an_action_or_a_resource_by_a_pattern_of_tables() -> None:
    for function in STACK.of_type("AWS::Lambda::Function"):
        for statement in statements(STACK, function):
            actions = [action for action in statement["Action"] if action.startswith("dynamodb:")]
            assert not any("*" in action for action in actions), function
            if actions:
                assert "*" not in str(statement["Resource"]).replace("/stream/*", ""), function


def test_a_whole_row_that_may_not_come_back_is_noticed() -> None:
    access = (
        "ProfileFunction",
        "dynamodb:UpdateItem",
        STACK.arn("ProfilesTable"),
        "pk",
        "nickname",
    )

    allowed = [_may(*access, returned=rows) for rows in ("NONE", "ALL_NEW", "ALL_OLD")]

    assert allowed == [True, False, False]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            {
                "Key": {"pk": 1, "sk": 2},
                "UpdateExpression": "SET #a = if_not_exists(#a, :zero) + :one, b = :b REMOVE c",
                "ConditionExpression": "attribute_not_exists(pk) AND d < :d",
                "ExpressionAttributeNames": {"#a": "status"},
            },
            {"pk", "sk", "status", "b", "c", "d"},
        ),
        ({"Item": {"pk": 1, "x": 2}}, {"pk", "x"}),
    ],
)
def test_each_attribute_of_a_request_is_seen(arguments: dict[str, Any], expected: set[str]) -> None:
    assert _attributes(arguments) == expected
