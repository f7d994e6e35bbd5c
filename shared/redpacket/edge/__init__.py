"""What all doors share: routes, problems, schemas, settings, wiring."""
