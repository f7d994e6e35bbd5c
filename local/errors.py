"""Errors of a local stack, with messages for the person at the terminal."""


class StackError(Exception):
    """The stack cannot do what was asked; the message is all that the user gets to see."""
