"""A guarantee and a model in words, for those who answer for them."""
