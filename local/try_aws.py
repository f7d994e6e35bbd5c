"""Trial of stage dev in an empty AWS account: the stack, the page, and one funded user.

python -m local.try_aws SAM

Each step prints its duration. A second run deploys again and gives the user a new password.
"""

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from local import places
from local.account import NEW_TO_CLOUDFRONT, check_concurrency, has_distribution
from local.errors import StackError
from local.publish import publish_to
from local.release import overrides_of, settings_of
from local.teardown import wait_until_deleted

STAGE = "dev"
USER = "ann@example.com"
FUNDS_FEN = 10_000
_REGIONS_WITHOUT_POOLS = "cn-"


@dataclass(frozen=True, slots=True)
class Trial:
    """Trial deployment in one account and Region."""

    session: boto3.Session
    sam: str
    say: Callable[[str], None]
    run: Callable[..., Any] = subprocess.run

    def up(self) -> None:
        """Run all steps, and print the page's address, the user, and the password."""
        settings = settings_of(STAGE)
        stack_name = settings["stack_name"]
        with self._step("account, Region and quotas"):
            is_known = self._check()
        with self._step("the build"):
            self._run(["make", "page", "build"], "the build failed: see above")
            stamp = [sys.executable, "-m", "local.release", "stamp", STAGE]
            self._run(stamp, "this build can't be deployed: see above")
        # CloudFront refuses some new accounts, and the refusal rolls back the whole deployment.
        for has_page in [True] if is_known else [False, True]:
            with self._step("the stack with its page" if has_page else "the stack"):
                self._deploy({**overrides_of(STAGE), "HostPage": str(has_page).lower()})
        outputs = self._outputs(stack_name)
        with self._step("the page"):
            publish_to(stack_name, self.session)
        with self._step("a user with money"):
            password = self._make_user(outputs["UserPoolId"])
            self._deposit(stack_name, self._sub(outputs["UserPoolId"]))
        self.say(f"\nPage      {outputs['PageUrl']}\nUser      {USER}\nPassword  {password}\n")
        self.say("The user has 100.00 yuan. `make try-aws-down` removes everything.")

    def _check(self) -> bool:
        """Return whether CloudFront is known to serve this account.

        Raises StackError if the Region or the account cannot run stage dev.
        """
        region = self.session.region_name
        if not region:
            raise StackError("no Region is given: export AWS_DEFAULT_REGION=eu-central-1")
        if region.startswith(_REGIONS_WITHOUT_POOLS):
            raise StackError(f"{region} has no user pools: follow docs/how-to/configure.md, China")
        account = self.session.client("sts").get_caller_identity()["Account"]
        limit = check_concurrency(STAGE, self.session.client("lambda"))
        is_known = has_distribution(self.session.client("cloudfront"))
        self.say(f"  account {account}, {region}, {limit} concurrent executions")
        if not is_known:
            self.say(f"  {NEW_TO_CLOUDFRONT}. So the page is deployed last")
        return is_known

    def _deploy(self, overrides: dict[str, str]) -> None:
        self._clear(settings_of(STAGE)["stack_name"])
        words = [f"{name}={value}" for name, value in overrides.items()]
        command = [self.sam, "deploy", "--config-env", STAGE, "--parameter-overrides", *words]
        self._run(command, "the deployment failed: see its first CREATE_FAILED above")

    def _clear(self, stack_name: str) -> None:
        """Delete a stack whose creation rolled back, because CloudFormation cannot update it."""
        cloud = self.session.client("cloudformation")
        failed = cloud.list_stacks(StackStatusFilter=["ROLLBACK_COMPLETE", "ROLLBACK_FAILED"])
        for each in failed["StackSummaries"]:
            if each["StackName"] == stack_name:
                cloud.delete_stack(StackName=stack_name)
                wait_until_deleted(cloud, each["StackId"])

    def _run(self, command: list[str], problem: str) -> None:
        """Run a command in the trial's Region. Raises StackError if the command fails."""
        env = {**os.environ, "AWS_DEFAULT_REGION": self.session.region_name}
        if self.run(command, cwd=places.ROOT, env=env, check=False).returncode:
            raise StackError(problem)

    def _outputs(self, stack_name: str) -> dict[str, str]:
        cloud = self.session.client("cloudformation")
        (stack,) = cloud.describe_stacks(StackName=stack_name)["Stacks"]
        return {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}

    def _make_user(self, pool: str) -> str:
        """Create the user, or reuse the user of an earlier trial, and return a new password."""
        users = self._users()
        attributes = {"email": USER, "email_verified": "true", "nickname": "Ann"}
        with suppress(users.exceptions.UsernameExistsException):
            users.admin_create_user(
                UserPoolId=pool,
                Username=USER,
                MessageAction="SUPPRESS",
                UserAttributes=[{"Name": n, "Value": v} for n, v in attributes.items()],
            )
        # The user pool requires a lowercase letter, an uppercase letter, and a digit.
        password = f"Aa1-{secrets.token_urlsafe(12)}"
        users.admin_set_user_password(
            UserPoolId=pool, Username=USER, Password=password, Permanent=True
        )
        return password

    def _sub(self, pool: str) -> str:
        user = self._users().admin_get_user(UserPoolId=pool, Username=USER)
        attributes = {each["Name"]: each["Value"] for each in user["UserAttributes"]}
        return str(attributes["sub"])

    def _users(self) -> Any:  # noqa: ANN401 - a client of Cognito
        return self.session.client("cognito-idp")

    def _deposit(self, stack_name: str, sub: str) -> None:
        command = [str(places.LOCAL / "bin" / "redpacket"), "--stack", stack_name]
        command += ["deposit", sub, str(FUNDS_FEN), "--key", "try-aws"]
        self._run(command, "the user has no money: `redpacket doctor` says what does not answer")

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        self.say(f"{name} ...")
        yield
        minutes, seconds = divmod(round(time.monotonic() - began), 60)
        self.say(f"{name}: done in {minutes}:{seconds:02}")


def main() -> None:
    """Run the trial in the AWS account that the environment selects."""
    (sam,) = sys.argv[1:]
    session = boto3.Session(region_name=settings_of(STAGE).get("region"))
    Trial(session, sam, lambda text: print(text, flush=True)).up()


if __name__ == "__main__":
    try:
        main()
    except (StackError, BotoCoreError, ClientError) as error:
        sys.exit(f"make try-aws: {error}")
