"""Entry point of `python -m redpacket.verify`."""

import sys

from redpacket.verify.command import main

if __name__ == "__main__":
    sys.exit(main())
