"""The command `redpacket`: what operators and integrators do at a terminal."""
