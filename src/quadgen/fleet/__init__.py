"""fleet.yml: its shape, its layers, and how it is read."""
