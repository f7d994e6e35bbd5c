"""Events out: from changes of rows to receivers (docs/adr/0037)."""
