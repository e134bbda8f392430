"""Requests for a fit, as frozen data: settings, words, rows and ledger."""
