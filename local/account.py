"""Checks before `make deploy` creates resources: the account must be able to run the stack."""

from typing import TYPE_CHECKING, Any

from local.errors import StackError

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

CONCURRENCY_MIN = {"dev": 50, "prod": 170}
"""Concurrent executions that a stage needs. Prod reserves 70 by default; Lambda keeps 100 free."""

_ASK = (
    "Request 1,000: aws service-quotas request-service-quota-increase --service-code lambda "
    "--quota-code L-B99A9384 --desired-value 1000. AWS answers within hours or days"
)


NEW_TO_CLOUDFRONT = (
    "This account has no CloudFront distribution yet. If CloudFront requires the account to be "
    "verified, ask AWS Support, and deploy without HostPage until then: otherwise the whole first "
    "stack rolls back"
)


def check_concurrency(stage: str, functions: "LambdaClient") -> int:
    """Return the account's concurrent executions. Raises StackError if the stage needs more."""
    limit = functions.get_account_settings()["AccountLimit"]["ConcurrentExecutions"]
    needed = CONCURRENCY_MIN[stage]
    if limit < needed:
        raise StackError(
            f"the account runs {limit} Lambda executions at once in this Region, and stage {stage} "
            f"needs {needed}: sweeps alone would refuse users. {_ASK}"
        )
    return limit


def has_distribution(front: Any) -> bool:  # noqa: ANN401 - a client of CloudFront
    """Return whether a distribution exists, which proves that CloudFront serves this account.

    CloudFront may refuse an account until AWS Support verifies it. No API call reveals this in
    advance.
    """
    return bool(front.list_distributions(MaxItems="1")["DistributionList"]["Quantity"])
