"""Swiss postal codes, 1000 to 9999, of which the first two digits count, and times of a day."""
