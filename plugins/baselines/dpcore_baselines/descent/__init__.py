"""Steps and defaults of gradient descent, from public facts and released values."""
