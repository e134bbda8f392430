"""Schemas, readers, encoding, data sets and the tables that hold rows."""
