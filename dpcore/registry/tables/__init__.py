"""Tables of the facts that the classes of parts state, and their check."""
