"""Many fits on equal terms: settings, folds, the runner, its results, their table and picture."""
