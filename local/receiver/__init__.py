"""Host's receiver of events: it checks signatures, drops repeats by id, and can be down."""
