"""Functions of one row, written by anyone and compiled by the core: what they may say and do."""
