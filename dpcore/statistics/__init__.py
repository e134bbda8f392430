"""Statistics of a table behind the same door as models: ``dpcore.open_session``."""
