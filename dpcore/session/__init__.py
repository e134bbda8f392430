"""The single door: charge, then draw."""
