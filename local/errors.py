"""Errors of a local stack, with messages for the user at the terminal."""


class StackError(Exception):
    """Error of a stack's command; the user sees only its message."""
