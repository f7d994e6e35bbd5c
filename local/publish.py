"""Upload of the built page to a deployed stack's bucket.

python -m local.publish redpacket-dev

With `--staging`, the upload goes beside the public page; only requests with the header
`x-page-stage: staging` get it. A public upload keeps the previous assets, which open pages may
still load.

`aws s3 sync` cannot replace this module. It does not order uploads, so a document could reference a
missing asset. It also needs a separate call for each `Cache-Control` value (see `local/page.py`).
"""

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import boto3

from local import places
from local.errors import StackError
from local.gateways.setups import page_parts, setups
from local.page import API_PREFIX, CONFIG_PATH, DOCUMENTS, File, limits, unit

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

STAGING = "staging"


def publish(
    store: "S3Client", bucket: str, config: dict[str, Any], *, is_staging: bool = False
) -> list[str]:
    """Upload the page and its configuration, documents last; return the keys."""
    files = [file for file in sorted(places.PAGE.rglob("*")) if file.is_file()]
    contents = {f"/{file.relative_to(places.PAGE).as_posix()}": file.read_bytes() for file in files}
    if not contents.keys() >= set(DOCUMENTS):
        raise StackError("the page isn't built: run `make page`")
    contents[CONFIG_PATH] = json.dumps(config).encode()
    # Upload assets before the pages that reference them.
    paths = sorted(contents, key=lambda path: path in DOCUMENTS)
    prefix = f"{STAGING}/" if is_staging else ""
    for path in paths:
        headers = File.of(path, contents[path]).headers
        store.put_object(
            Bucket=bucket,
            Key=f"{prefix}{path.removeprefix('/')}",
            Body=contents[path],
            ContentType=headers["content-type"],
            CacheControl=headers["cache-control"],
        )
    return [f"{prefix}{path.removeprefix('/')}" for path in paths]


def _auth(outputs: dict[str, str], parameters: dict[str, str], region: str) -> dict[str, str]:
    """Return the users' sign-in: with a provider, the stack's user pool, or an issuer."""
    for setup in setups().values():
        if provider_auth := setup.auth(parameters):
            return provider_auth
    if "UserPoolClientId" in outputs:
        issuer = f"https://cognito-idp.{region}.amazonaws.com/{outputs['UserPoolId']}"
        # Access tokens from the user pool have no nickname; the authorizer accepts both kinds.
        auth = {"client_id": outputs["UserPoolClientId"], "token": "id_token"}
    else:
        issuer = parameters["JwtIssuer"]
        auth = {"client_id": parameters["PageClientId"], "token": "access_token"}
    if not urlsplit(issuer).netloc or not auth["client_id"]:
        raise StackError(
            "the stack has no client for the page: deploy with the parameter PageClientId"
        )
    return {"kind": "oidc", "issuer": issuer, "scope": "openid profile", **auth}


def _operators_auth(
    outputs: dict[str, str], parameters: dict[str, str], region: str
) -> dict[str, str] | None:
    """Return the operators' sign-in to the console, or None if operators sign in like users."""
    issuer = parameters.get("OperatorIssuer", "")
    if client_id := outputs.get("ConsoleClientId"):
        issuer = f"https://cognito-idp.{region}.amazonaws.com/{outputs['UserPoolId']}"
        # Only ID tokens from the user pool have groups as scopes.
        token = "id_token"  # noqa: S105 - a kind of token
    elif issuer:
        client_id = parameters.get("OperatorClientIds", "").split(",")[0]
        token = "access_token"  # noqa: S105 - a kind of token
    else:
        return None
    auth = {"kind": "oidc", "issuer": issuer, "scope": "openid profile"}
    return {**auth, "client_id": client_id, "token": token}


def configuration(
    outputs: dict[str, str], parameters: dict[str, str], region: str
) -> dict[str, Any]:
    """Return the content of a stack's /config.json."""
    auth = _auth(outputs, parameters, region)
    covers = [host for host in parameters.get("CoverHosts", "").split(",") if host]
    channels = [name for name, setup in setups().items() if parameters.get(setup.enabled_by)]
    config: dict[str, Any] = {
        "api": API_PREFIX,
        "auth": auth,
        "cover_hosts": covers,
        "channels": channels,
        "limits": limits(parameters),
        "unit": unit(parameters),
    }
    if confirm_url := parameters.get("ConfirmUrl"):
        config["confirm_url"] = confirm_url
    if operators := _operators_auth(outputs, parameters, region):
        config["operators_auth"] = operators
    return config | page_parts(parameters, {})


def publish_to(stack_name: str, session: boto3.Session, *, is_staging: bool = False) -> None:
    """Publish the page to a stack, and print its address. Raises StackError."""
    cloud = session.client("cloudformation")
    stack = cloud.describe_stacks(StackName=stack_name)["Stacks"][0]
    outputs = {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}
    parameters = {
        parameter["ParameterKey"]: parameter["ParameterValue"] for parameter in stack["Parameters"]
    }
    if "PageBucketName" not in outputs:
        raise StackError("the stack has no bucket for the page: deploy it with HostPage=true")
    config = configuration(outputs, parameters, cloud.meta.region_name)
    keys = publish(session.client("s3"), outputs["PageBucketName"], config, is_staging=is_staging)
    print(f"{len(keys)} files are at {outputs['PageUrl']}")


def main() -> None:
    """Publish to the stack on the command line, in the AWS account that the environment selects."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("stack")
    arguments.add_argument("--staging", action="store_true")
    given = arguments.parse_args()
    publish_to(given.stack, boto3.Session(), is_staging=given.staging)


if __name__ == "__main__":
    try:
        main()
    except StackError as error:
        sys.exit(f"make deploy: {error}")
