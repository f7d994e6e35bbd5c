"""Errors of a local stack, with messages for the user at the terminal."""


class StackError(Exception):
    """Error of a local command; the user sees only the message."""
