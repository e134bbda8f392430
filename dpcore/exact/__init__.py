"""Numbers that are exact, or rounded in a stated direction."""
