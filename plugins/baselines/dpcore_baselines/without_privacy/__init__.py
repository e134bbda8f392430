"""The references of a comparison: exact answers, without privacy."""
