"""Checks before a deployment, and the release that each function gets."""

from pathlib import Path

import pytest
import yaml

from local import release
from local.errors import StackError
from local.places import ROOT

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
