"""Network reach: functions in a VPC without internet access reach the services that they call, and
every paid endpoint is used.
"""

import ast
from functools import cache

import pytest

from tests.template.test_template import HANDLERS, PACKAGE, _function_of, _Readers
from tests.template.translated import ACCOUNT, STACK_OF, STACKS, Stack

each_stack = pytest.mark.parametrize("stack", STACKS, ids=lambda stack: stack.name)

BY_IAM_OR_SECRET = "_cache_password"
CALLS_GATEWAYS = {"OrderFunction", "PaymentFunction", "TransferFunction"}


def _asked(node: ast.AST) -> set[str]:
    """Return the services for which a container's code creates a client."""
    return {
        str(argument.value)
        for call in ast.walk(node)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "aws"
        for argument in call.args
        if isinstance(argument, ast.Constant)
    }


class _Callers(_Readers):
    """Tracer that follows a handler's code to the AWS services that the code may call."""

    def services_of(self, handler: str, *, without: frozenset[str]) -> set[str]:
        spots = [spot for spot in self._bodies if spot[0] == handler]
        seen = set()
        services: set[str] = set()
        while spots:
            spot = spots.pop()
            if spot in seen or spot not in self._bodies or spot[1] in without:
                continue
            seen.add(spot)
            services |= _asked(self._bodies[spot])
            spots += self._used_by(spot)
        return services


_callers = cache(_Callers)


def _services(stack: Stack) -> dict[str, set[str]]:
    """Return the services that each function may call, given the stack's sign-in to its cache and
    its payment gateways.
    """
    has_secret = stack.is_true("CacheHasPassword")
    without = set() if has_secret else {BY_IAM_OR_SECRET}
    if not stack.is_true("HasGateway"):
        # Without a payment gateway, users cannot pay for packets: packets/api/orders.py.
        without |= {"_order_payment", "_ended"}
    return _reached(frozenset(without))


@cache
def _reached(without: frozenset[str]) -> dict[str, set[str]]:
    return {
        _function_of(handler): _callers().services_of(handler, without=without)
        for handler in HANDLERS
    }


def test_the_code_is_traced_to_its_calls() -> None:
    services = _services(STACKS[0])

    assert services["GrabFunction"] == {"dynamodb", "sqs"}
    assert services["AdminFunction"] == {"cloudwatch", "dynamodb"}
    assert services["ProfileFunction"] == {"dynamodb"}
    rooms = [
        ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.glob("containers/*.py")
    ]
    requested = set().union(*(_asked(room) for room in rooms))
    assert services["TransferFunction"] == {"dynamodb", "s3", "secretsmanager", "sqs"}
    # With a payment gateway, the send function also orders payments.
    services = services | _services(STACK_OF["both gateways"])
    assert set().union(*services.values()) == requested


@each_stack
def test_a_function_in_the_vpc_reaches_every_service_that_it_calls(stack: Stack) -> None:
    endpoints = {
        each["ServiceName"].rpartition(".")[2]: each
        for each in stack.of_type("AWS::EC2::VPCEndpoint").values()
    }
    inside = _inside(stack, "SubnetA", "SubnetB")
    called = {name: services for name, services in _services(stack).items() if name in inside}

    if not stack.is_true("MakeVpc"):
        assert not endpoints.keys() - {"dynamodb"}, "of a given VPC, its owner says what is reached"
        return
    for name, services in called.items():
        assert services <= endpoints.keys(), name
    assert set().union(*called.values()) == endpoints.keys()
    _assert_the_way_is_open(stack, inside, endpoints)


def _inside(stack: Stack, *subnets: str) -> set[str]:
    """Return the stack's functions that are in *subnets*."""
    expected = [stack.physical(name) for name in subnets]
    functions = stack.of_type("AWS::Lambda::Function").items()
    return {
        name for name, each in functions if each.get("VpcConfig", {}).get("SubnetIds") == expected
    }


def _assert_the_way_is_open(
    stack: Stack, inside: set[str], endpoints: dict[str, dict[str, object]]
) -> None:
    subnets = {stack.ref("SubnetA"), stack.ref("SubnetB")}
    functions = stack.of_type("AWS::Lambda::Function")
    for name in inside:
        vpc = functions[name]["VpcConfig"]
        assert set(vpc["SubnetIds"]) == subnets
        assert vpc["SecurityGroupIds"] == [stack.ref("FunctionSecurityGroup")]
    groups = stack.of_type("AWS::EC2::SecurityGroup")
    out = {rule["ToPort"] for rule in groups["FunctionSecurityGroup"]["SecurityGroupEgress"]}
    into = {
        name: [
            rule["ToPort"]
            for rule in groups[name]["SecurityGroupIngress"]
            if rule["SourceSecurityGroupId"] == stack.ref("FunctionSecurityGroup")
        ]
        for name in ("CacheSecurityGroup", "EndpointSecurityGroup")
        if name in groups
    }
    cache_takes = {"CacheSecurityGroup": [6379]} if stack.is_true("MakeCache") else {}
    assert out == {443, 6379}
    assert into == {**cache_takes, "EndpointSecurityGroup": [443]}
    tables = {
        each["SubnetId"]: each["RouteTableId"]
        for each in stack.of_type("AWS::EC2::SubnetRouteTableAssociation").values()
        # Leave out the subnets of NAT gateways and of the functions behind fixed addresses.
        if each["SubnetId"] in subnets
    }
    for endpoint in endpoints.values():
        (allowed,) = endpoint["PolicyDocument"]["Statement"]  # type: ignore[index]
        assert allowed["Condition"] == {"StringEquals": {"aws:ResourceAccount": ACCOUNT}}
        if endpoint["VpcEndpointType"] == "Gateway":
            assert set(tables.values()) <= set(endpoint["RouteTableIds"])  # type: ignore[call-overload]
            assert tables.keys() == subnets
        else:
            # One zone is enough for dev: names resolve to this endpoint from both zones.
            zones = subnets if stack.is_true("IsProd") else {stack.ref("SubnetA")}
            assert set(endpoint["SubnetIds"]) == zones  # type: ignore[call-overload]
            assert endpoint["SecurityGroupIds"] == [stack.ref("EndpointSecurityGroup")]
            assert endpoint["PrivateDnsEnabled"] is True


@each_stack
def test_functions_without_the_cache_stay_outside_the_vpc_and_reach_everything(
    stack: Stack,
) -> None:
    for name, each in stack.handlers().items():
        has_cache = "CACHE_URL" in each["Environment"]["Variables"]
        where = "InVpc" if has_cache else "FixEgress"
        is_inside = stack.is_true(where) and (has_cache or name in CALLS_GATEWAYS)
        assert ("VpcConfig" in each) == is_inside, name


@each_stack
def test_public_functions_have_internet_access_only_for_a_risk_control_or_for_chats(
    stack: Stack,
) -> None:
    out = {each["RouteTableId"]: each for each in stack.of_type("AWS::EC2::Route").values()}
    crowds = out.get(stack.physical("RouteTable"))

    calls_out = stack.values["RiskUrl"] or stack.values["ChatSecretArn"]
    if not (stack.is_true("MakeVpc") and calls_out):
        assert crowds is None
        return
    assert crowds is not None
    assert crowds["NatGatewayId"] == stack.ref("Nat")
    _assert_a_nat_leads_out(stack, stack.ref("Nat"), stack.physical("NatSubnet"))


@each_stack
def test_gateways_are_called_from_one_fixed_address_per_zone(stack: Stack) -> None:
    """WeChat Pay accepts merchant transfers only from IP addresses that the merchant registered."""
    inside = _inside(stack, "GatewaySubnetA", "GatewaySubnetB")

    if not stack.is_true("FixEgress"):
        assert inside == set()
        assert len(stack.of_type("AWS::EC2::NatGateway")) == stack.is_true("CallOutByNat")
        return
    assert inside == CALLS_GATEWAYS
    out = {each["RouteTableId"]: each for each in stack.of_type("AWS::EC2::Route").values()}
    tables = {
        each["SubnetId"]: each["RouteTableId"]
        for each in stack.of_type("AWS::EC2::SubnetRouteTableAssociation").values()
    }
    subnets = stack.of_type("AWS::EC2::Subnet")
    for zone, nat, public in (("A", "Nat", "NatSubnet"), ("B", "NatB", "NatSubnetB")):
        table = tables[stack.physical(f"GatewaySubnet{zone}")]
        assert out[table]["NatGatewayId"] == stack.ref(nat)
        _assert_a_nat_leads_out(stack, stack.ref(nat), stack.physical(public))
        zones = {subnets[name]["AvailabilityZone"] for name in (f"GatewaySubnet{zone}", public)}
        assert zones == {subnets[f"GatewaySubnet{zone}"]["AvailabilityZone"]}
    assert len({each["AvailabilityZone"] for each in subnets.values()}) == 2
    told = stack.resolved(stack.pruned["Outputs"]["GatewayAddresses"]["Value"])
    assert told.split(",") == [stack.ref("NatAddress"), stack.ref("NatAddressB")]


def _assert_a_nat_leads_out(stack: Stack, nat: str, subnet: str) -> None:
    (gateways,) = [
        each
        for name, each in stack.of_type("AWS::EC2::NatGateway").items()
        if stack.ref(name) == nat
    ]
    assert gateways["SubnetId"] == subnet
    (table,) = [
        each["RouteTableId"]
        for each in stack.of_type("AWS::EC2::SubnetRouteTableAssociation").values()
        if each["SubnetId"] == subnet
    ]
    (way,) = [
        each for each in stack.of_type("AWS::EC2::Route").values() if each["RouteTableId"] == table
    ]
    assert (way["DestinationCidrBlock"], way["GatewayId"]) == ("0.0.0.0/0", stack.ref("Internet"))


def test_setting_a_cache_later_removes_no_network_resource() -> None:
    """Operators set CacheUrl on a live stack before a rush, or after the loss of its Redis."""
    made, given = (
        Stack("made", parameters=parameters).resources
        for parameters in ({}, {"CacheUrl": "rediss://cache.example:6379"})
    )

    gone = {made[name]["Type"].split("::")[1] for name in made.keys() - given.keys()}
    assert gone == {"ElastiCache", "EC2", "IAM"}
    assert {name for name in made.keys() - given.keys() if "EC2" in made[name]["Type"]} == {
        "CacheSecurityGroup"
    }


def test_the_zones_of_the_vpc_can_be_chosen() -> None:
    subnets = STACK_OF["a given cache in the made VPC"].of_type("AWS::EC2::Subnet")

    zones = [subnets[name]["AvailabilityZone"] for name in ("SubnetA", "SubnetB")]
    assert zones == ["us-east-1b", "us-east-1d"]
