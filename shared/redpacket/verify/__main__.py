"""Runs the command."""

import sys

from redpacket.verify.command import main

if __name__ == "__main__":
    sys.exit(main())
