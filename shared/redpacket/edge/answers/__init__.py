"""The answers of the HTTP contract: every field with its bounds, its meaning and an example.

A door names one as the type of what it returns, and mypy holds the views to it. `local/openapi.py`
makes openapi.json of them. No door imports them when it runs, so pydantic costs a cold start
nothing here.
"""
