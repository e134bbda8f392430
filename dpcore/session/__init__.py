"""The only way to the rows: charge, then draw."""
