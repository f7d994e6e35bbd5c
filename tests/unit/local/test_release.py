"""Checks and records before a deployment."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from botocore.exceptions import ClientError

from local import release
from local.errors import StackError
from local.places import ROOT
from local.seed_keys import PUBLISHED_SEEDS
from local.upgrade import _outputs, check_beacons
from redpacket.platform.dynamodb.client import put
from testing.builders import NOW_MS
from testing.fairness.past_campaign import DAY, hold_past_campaign
from testing.in_memory_system import InMemorySystem

ELF = {"arm64": 0xB7, "x86_64": 0x3E}


def _built(folder: Path, architecture: str) -> Path:
    library = folder / "SharedLayer" / "python" / "core.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"\x7fELF" + bytes(14) + ELF[architecture].to_bytes(2, "little"))
    return folder


@pytest.mark.parametrize("architecture", ELF)
def test_a_layer_for_another_processor_is_not_deployed(tmp_path: Path, architecture: str) -> None:
    built = _built(tmp_path, architecture)
    (other,) = ELF.keys() - {architecture}

    release.check_layers(architecture, built)
    with pytest.raises(StackError, match=f"built for {architecture}.* deploys {other}"):
        release.check_layers(other, built)


def test_an_unbuilt_function_is_not_deployed(tmp_path: Path) -> None:
    with pytest.raises(StackError, match="no layer is built"):
        release.check_layers("arm64", tmp_path)


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ('"Stage=dev"', "arm64"),
        ('"Stage=dev Architecture=x86_64"', "x86_64"),
        ('["Stage=dev", "Architecture=x86_64"]', "x86_64"),
    ],
)
def test_the_layer_is_built_for_the_deployed_processor(
    tmp_path: Path, overrides: str, expected: str
) -> None:
    config = f"version = 0.1\n[dev.deploy.parameters]\nparameter_overrides = {overrides}\n"
    (tmp_path / "samconfig.toml").write_text(config)
    (tmp_path / "template.yaml").write_text((ROOT / "template.yaml").read_text())

    assert release.architecture("dev", tmp_path) == expected
    assert expected in release.PLATFORMS


def test_the_stages_of_this_project_deploy_the_built_functions() -> None:
    assert {release.architecture(stage) for stage in ("dev", "prod")} == {"arm64"}


def test_every_function_gets_the_release(tmp_path: Path) -> None:
    variables: dict[str, object] = {"A": {"Ref": "红包"}}
    built = {"Globals": {"Function": {"Environment": {"Variables": variables}}}}
    (tmp_path / "template.yaml").write_text(yaml.safe_dump(built, allow_unicode=True))

    release.stamp("20261122T021500Z", tmp_path)

    variables["RELEASE"] = "20261122T021500Z"
    assert yaml.safe_load((tmp_path / "template.yaml").read_text()) == built


def test_a_template_for_china_names_nothing_unknown_there(tmp_path: Path) -> None:
    built = {
        "Globals": {"Function": {"Environment": {"Variables": {}}}},
        "Resources": {
            "UserPool": {"Type": "AWS::Cognito::UserPool", "Condition": "MakeIssuer"},
            "Api": {
                "Type": "AWS::ApiGatewayV2::Api",
                "Issuer": {"Fn::If": ["MakeIssuer", {"Ref": "UserPool"}, {"Ref": "JwtIssuer"}]},
            },
        },
        "Outputs": {"PageUrl": {"Condition": "MakePage", "Value": {"Ref": "Page"}}},
    }
    (tmp_path / "template.yaml").write_text(yaml.safe_dump(built))

    release.stamp("1", tmp_path, "eu-central-1")
    elsewhere = yaml.safe_load((tmp_path / "template.yaml").read_text())
    release.stamp("2", tmp_path, "cn-north-1")
    there = yaml.safe_load((tmp_path / "template.yaml").read_text())

    assert elsewhere["Resources"] == built["Resources"]
    assert there["Resources"] == {
        "Api": {"Type": "AWS::ApiGatewayV2::Api", "Issuer": {"Ref": "JwtIssuer"}}
    }
    assert there["Outputs"] == {}


def test_an_upgrade_waits_until_campaigns_with_a_beacon_have_ended(system: InMemorySystem) -> None:
    dynamo = system.process().dynamo
    hold_past_campaign(dynamo, PUBLISHED_SEEDS)
    for ends_at_ms in (DAY.ends_at_ms, DAY.ends_at_ms + 1):  # An edit moved the end back.
        row = {"pk": "drawing", "sk": f"{ends_at_ms:013d}#past"}
        dynamo.write(put(dynamo.tables.transparency, row))
    outputs = {f"{name.capitalize()}Table": name for name in dynamo.tables._fields}
    client: Any = system.dynamo

    with pytest.raises(StackError, match=r"has no public beacon.* draw by one: past\. Deploy"):
        check_beacons(outputs, client, DAY.ends_at_ms - 1)

    check_beacons(outputs, client, DAY.ends_at_ms)
    check_beacons({}, client, NOW_MS)


class _Refusing:
    """CloudFormation that refuses every call."""

    def __init__(self, message: str) -> None:
        self._message = message

    def describe_stacks(self, **_: str) -> None:
        raise ClientError({"Error": {"Message": self._message}}, "DescribeStacks")


def test_a_first_deployment_upgrades_nothing() -> None:
    missing: Any = _Refusing("Stack with id redpacket-dev does not exist")
    denied: Any = _Refusing("User is not authorized")

    assert _outputs("redpacket-dev", missing) == {}
    with pytest.raises(ClientError, match="not authorized"):
        _outputs("redpacket-dev", denied)
