"""Rows and their public description: schemas, arrays of numbers, blocks.

The rule here: what a cell becomes is a function of that cell and of public facts, whatever is in
the other rows, from every source. A row that does not satisfy the schema is refused or dropped by
itself. The public facts are the schema and the types that columns declare; the package that reads
tables says which types are read and how, and its tests hold every source to it.
Types that another program chose from all cells of a column (a pandas frame, a Parquet file) are the
caller's claim, and the statement of a fit says so.
"""
