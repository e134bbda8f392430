"""What a cell becomes, by itself alone."""
