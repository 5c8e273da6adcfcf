"""Edge isoperimetry: fewest links that leave a set of routers of a given size."""
