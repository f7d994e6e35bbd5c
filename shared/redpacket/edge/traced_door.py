"""What Lambda calls where a function is traced: its door, by another way in (docs/adr/0041)."""

from importlib import import_module

from redpacket.edge.traces import recorder_of_lambda, traced

door = import_module("app").handler
found = recorder_of_lambda()
handler = traced(door, *found) if found else door
