"""The rows of a run: where they come from, and which engine has them."""
