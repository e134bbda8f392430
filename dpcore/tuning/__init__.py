"""Parameters chosen on the budget: several private fits, and the best of them, as one release."""
