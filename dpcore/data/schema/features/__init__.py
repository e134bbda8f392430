"""Features of columns: what a cell becomes, and the transforms behind it."""

from dpcore.data.schema.features import transforms as transforms
