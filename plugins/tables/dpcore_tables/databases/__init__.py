"""The rows of a query's result: of SQLite, PostgreSQL and DuckDB, read once, in one transaction."""
