"""What was asked for: settings, words, rows and ledger, as frozen data."""
