"""Protocols that flows depend on and adapters implement.

Every method may raise Unavailable. Its effect is then unknown, and calling it again is safe. Reads
are strongly consistent and unordered unless a docstring says otherwise. Methods that return False
on a conflict, such as outdated *spent* or *before*, have no effect then. A bad cursor raises
InvalidRequest; a reused idempotency key raises IdempotencyKeyReused or Busy.
"""
