"""Red packets (红包) whose every share has one durable outcome."""

__version__ = "0.1.0"
