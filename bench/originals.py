"""Claim scripts of other systems, rewritten from descriptions, for comparison.

Both store shares as text in a list. They check no opening time or expiry, do not detect a packet's
end, and do not return a user's share again.
"""

import json
from collections.abc import Iterator
from functools import partial
from itertools import count

import redis

from bench.rounds import Call, Contender, of_new_users, script_call

BASELINE = """
if redis.call('HEXISTS', KEYS[3], ARGV[1]) ~= 0 then
  return nil
end
local packed = redis.call('RPOP', KEYS[1])
if not packed then
  return nil
end
local share = cjson.decode(packed)
share['userId'] = ARGV[1]
local taken = cjson.encode(share)
redis.call('HSET', KEYS[3], ARGV[1], ARGV[1])
redis.call('LPUSH', KEYS[2], taken)
return taken
"""

BASELINE_B = """
if redis.call('HEXISTS', KEYS[3], ARGV[1]) ~= 0 then
  return nil
end
redis.call('INCR', KEYS[4])
local amount = redis.call('RPOP', KEYS[1])
if not amount then
  return nil
end
redis.call('HSET', KEYS[3], ARGV[1], cjson.encode({amount = amount}))
local taken = cjson.encode({amount = amount, user = ARGV[1]})
redis.call('RPUSH', KEYS[2], taken)
return taken
"""


def originals(client: redis.Redis, share_count: int) -> Iterator[Contender]:
    """Fill the lists, and yield contenders whose calls come from new users, who all get a share."""
    yield Contender("baseline", of_new_users(*baseline(client, "baseline", share_count)), '{"')
    client.rpush("001:left", *([100] * share_count))
    baseline_b = script_call(client, BASELINE_B, 4, "001:left", "001:taken", "001:takers")
    yield Contender("baseline_b", partial(next, _of_triers(baseline_b)), '{"')


def baseline(client: redis.Redis, name: str, share_count: int) -> Call:
    """Fill a list for the baseline, and return the call of its script without the user."""
    shares = (json.dumps({"id": number, "money": 100}) for number in range(share_count))
    client.rpush(f"{name}:left", *shares)
    return script_call(client, BASELINE, 3, f"{name}:left", f"{name}:taken", f"{name}:takers")


def _of_triers(call: Call) -> Iterator[Call]:
    for number in count(1):
        user_id = f"user-{number:08d}"
        yield (*call, f"001:tries:{user_id}", user_id)
