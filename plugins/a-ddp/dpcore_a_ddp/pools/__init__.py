"""Pools of users in one process: their rows, budgets, ledgers and rounds."""
