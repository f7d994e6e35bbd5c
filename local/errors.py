"""What can go wrong with a local stack, said in words for the person at the terminal."""


class StackError(Exception):
    """The stack cannot do what was asked; the message is all that the user gets to see."""
