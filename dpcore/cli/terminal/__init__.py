"""Lines, tables, JSON and progress on their way to a terminal."""
