"""The commands of this package: a file each."""
