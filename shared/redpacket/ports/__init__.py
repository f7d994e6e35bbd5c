"""What the flows need from outside, implemented by the adapters.

Every method may raise Unavailable; then nothing is known of its effect, and calling it again is
harmless.
"""
