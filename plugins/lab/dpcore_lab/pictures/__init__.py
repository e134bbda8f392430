"""Pictures of a model and of a ledger, by matplotlib, from the panels that a report draws too."""
