"""Models as graphs that other programs run."""
