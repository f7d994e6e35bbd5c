"""What the gateway answers where it does not do what it was asked."""


class Refused(Exception):
    """An answer outside 2xx: a status, a stable code, and a message for people."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


def parameter_error(message: str) -> Refused:
    """Return the answer to a request of the wrong form."""
    return Refused(400, "PARAM_ERROR", message)


def invalid_request(message: str) -> Refused:
    """Return the answer to a request that does not fit what is there."""
    return Refused(400, "INVALID_REQUEST", message)
