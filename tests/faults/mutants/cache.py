"""The scripts and clients of the cache."""

from __future__ import annotations

from tests.faults.mutants.mutant import (
    Mutant,
)

MUTANTS = [
    # The cache
    Mutant(
        "a packet that ended long ago is forgotten as soon as it is loaded",
        "packet_load.lua",
        "math.max(keep_until_ms, now_ms() + 600000)",
        "keep_until_ms",
    ),
    Mutant(
        "a user gets a new number each time",
        "packet_grab.lua",
        "if redis.call('HSETNX', packet_key, user_id, share_no) == 0 then",
        "if redis.call('HSET', packet_key, user_id, share_no) == 2 then",
    ),
    Mutant(
        "an expired packet hands out shares",
        "open.lua",
        "if left_ms <= 86400000 then",
        "if left_ms == 0 then",
    ),
    Mutant(
        "a packet hands out shares before its start",
        "open.lua",
        "elseif left_ms > tonumber(string.sub(state, 2, 9), 36) then",
        "elseif left_ms == 0 then",
    ),
    Mutant(
        "an owner who asks the script is refused like everybody",
        "open.lua",
        "if owned_no then",
        "if owned_no == '' then",
    ),
    Mutant(
        "a number is offered while processes remember that none is left",
        "open.lua",
        "offered_ms ~= '' and left_ms > tonumber(offered_ms)",
        "offered_ms == ' '",
    ),
    Mutant(
        "the last number does not empty the packet",
        "packet_grab.lua",
        "share_no == count and",
        "share_no > count and",
    ),
    Mutant(
        "more numbers than shares are handed out",
        "packet_grab.lua",
        "if share_no > count then",
        "if share_no > count + 1 then",
    ),
    Mutant(
        "a load takes back what was handed out since",
        "packet_load.lua",
        "  packet.given_no = math.max(packet.given_no, durable_no)\n",
        "  packet.given_no = durable_no\n",
    ),
    Mutant(
        "a load opens a closed packet",
        "state.lua",
        "if letter ~= 'C' then",
        "if true then",
    ),
    Mutant(
        "a repeated correction corrects again",
        "packet_amend.lua",
        "if redis.call('HGET', packet_key, user_id) ~= share_no then",
        "if redis.call('HGET', packet_key, user_id) == '' then",
    ),
    Mutant(
        "a key lives for ever",
        "packet_load.lua",
        "redis.call('PEXPIREAT', packet_key, until_ms, 'NX')\n",
        "",
    ),
    Mutant(
        "a script starts although memory is full",
        "packet_grab.lua",
        "#!lua\n",
        "#!lua flags=allow-oom\n",
    ),
    Mutant(
        "a broken connection looks like an error of ours",
        "_raise_ours",
        "if isinstance(error, (NoConnection, NoAnswer)):\n",
        "if isinstance(error, (NoConnection, NoAnswer)):\n        raise error\n    if False:\n",
    ),
    Mutant(
        "a full cache looks like an error of ours",
        "_raise_ours",
        'raise Unavailable("the cache refuses this key for now") from error',
        "raise error",
    ),
    Mutant(
        "an answer that comes late is taken for another one",
        "Connections.ask",
        "            connection.disconnect()",
        "            idle.append(connection)",
    ),
    Mutant(
        "a connection that broke leads to another one that broke",
        "Connections.forget",
        "self._idle = []",
        "pass",
    ),
    Mutant(
        "a slot that moves is looked for where it was",
        "ClusterClient._ask",
        "address, is_asking = (moved.host or address[0], moved.port), False",
        "is_asking = False",
    ),
    Mutant(
        "a slot that is on its way is asked for without saying so",
        "ClusterClient._ask",
        "(ask.host or address[0], ask.port), True",
        "(ask.host or address[0], ask.port), False",
    ),
]
