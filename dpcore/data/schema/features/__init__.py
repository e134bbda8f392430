"""Features of columns: what a cell becomes, and the transforms behind it."""
