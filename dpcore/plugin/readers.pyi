"""No names of its own: those of ``dpcore.plugin.readers`` are in the package that reads tables."""

__all__: list[str] = []
