"""Functions of float64 arrays whose bits are the same on every processor."""
