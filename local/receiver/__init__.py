"""Host's receiver of events: it verifies signatures, drops repeats by id, and can be down."""
