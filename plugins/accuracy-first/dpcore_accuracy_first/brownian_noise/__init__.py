"""Normal noise that is taken off step by step, and the tests at its levels."""
