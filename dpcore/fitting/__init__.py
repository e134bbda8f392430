"""One fit from words to model: settings, plan, data, run, report."""
