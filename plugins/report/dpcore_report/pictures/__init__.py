"""Pictures of a model as data, from what its file holds, and as SVG within a page."""
