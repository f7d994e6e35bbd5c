"""Client for the key service that signs the log's heads."""
