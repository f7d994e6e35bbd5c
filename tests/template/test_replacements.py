"""Stack updates: none replaces the API's address or a resource with money, users or messages.

`stateful.json` lists the deployed resources with the properties whose change would replace them. To
change a line in the file, plan a migration and write an ADR first.
"""

import json
import re
from pathlib import Path
from typing import Any

from local.places import ROOT
from tests.template.translated import STACK_OF, STACKS, source

LIST = Path(__file__).with_name("stateful.json")
STATEFUL = {
    "AWS::ApiGatewayV2::Api",
    "AWS::Cognito::UserPool",
    "AWS::Cognito::UserPoolClient",
    "AWS::Cognito::UserPoolResourceServer",
    "AWS::DynamoDB::Table",
    "AWS::KMS::Key",
    "AWS::SecretsManager::Secret",
    "AWS::SQS::Queue",
}
NEVER_CHANGED = {
    # CloudFormation can neither update these properties nor replace a user pool to change them.
    "AWS::Cognito::UserPool": {"UsernameAttributes", "AliasAttributes", "Schema"},
    # A new key would start a different public log.
    "AWS::KMS::Key": {"KeySpec", "KeyUsage", "MultiRegion"},
    # A changed generator creates a new value, and a new UserIdKey would cost users their accounts.
    "AWS::SecretsManager::Secret": {"GenerateSecretString"},
}


def _replacing(kind: str) -> set[str]:
    from cfnlint.schema import PROVIDER_SCHEMA_MANAGER  # This slow import would delay collection.

    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", kind).schema
    paths = [
        *schema.get("createOnlyProperties", []),
        *schema.get("conditionalCreateOnlyProperties", []),
    ]
    return {path.split("/")[2] for path in paths} | NEVER_CHANGED.get(kind, set())


def stateful() -> dict[str, Any]:
    """Return the template's stateful resources, with the properties whose change would replace
    them.
    """
    resources = STACK_OF["prod"].template["Resources"]
    return {
        name: {
            "Type": each["Type"],
            **{
                key: value
                for key, value in sorted(each["Properties"].items())
                if key in _replacing(each["Type"])
            },
        }
        for name, each in sorted(resources.items())
        if each["Type"] in STATEFUL
    }


def test_no_stateful_resource_is_replaced() -> None:
    deployed = json.loads(LIST.read_text(encoding="utf-8"))
    today = stateful()

    gone = deployed.keys() - today.keys()
    changed = {name for name in deployed.keys() & today.keys() if deployed[name] != today[name]}
    assert (gone, changed) == (set(), set())
    assert today.keys() == deployed.keys(), "a new resource that holds state gets its line"


def test_the_list_has_the_properties_that_replace_resources() -> None:
    assert "KeySchema" in _replacing("AWS::DynamoDB::Table")
    assert "TableName" in _replacing("AWS::DynamoDB::Table")
    assert "QueueName" in _replacing("AWS::SQS::Queue")
    kept = {
        name
        for name, each in source()["Resources"].items()
        if str(each.get("DeletionPolicy", "")).startswith("Retain")
    }
    assert kept <= stateful().keys()


def test_stateful_resources_have_no_name_that_a_second_stack_would_need() -> None:
    named = {
        name for name, each in stateful().items() if {"TableName", "QueueName", "Name"} & {*each}
    }

    assert named == set()


def test_no_update_of_a_deployed_stack_replaces_or_deletes_state() -> None:
    """CloudFormation enforces this policy even if a fork has edited the template."""
    policy = json.loads((ROOT / "stack-policy.json").read_text(encoding="utf-8"))
    denied = policy["Statement"][1]

    assert (denied["Effect"], denied["Resource"]) == ("Deny", "*")
    assert set(denied["Action"]) == {"Update:Replace", "Update:Delete"}
    assert set(denied["Condition"]["StringEquals"]["ResourceType"]) == STATEFUL


SERVICES = {
    "apigatewayv2": "apigateway",
    "cognito": "cognito-idp",
    "stepfunctions": "states",
}
"""IAM names of the services that CloudFormation names differently."""


def test_the_deployment_role_can_create_every_kind_of_resource() -> None:
    role = json.loads((ROOT / ".github" / "deploy-role.json").read_text(encoding="utf-8"))
    allowed = set(re.findall(r"'([a-z0-9-]+):[*A-Z]", str(role["Statement"])))
    made = {
        each["Type"].split("::")[1].lower() for stack in STACKS for each in stack.resources.values()
    }

    assert {SERVICES.get(service, service) for service in made} <= allowed
