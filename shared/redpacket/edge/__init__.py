"""HTTP routes, problems, schemas, settings and wiring, shared by all handlers."""
