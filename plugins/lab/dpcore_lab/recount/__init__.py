"""A second count of what releases cost, by other formulas than those of the accountants."""
