"""Settlement: what Restate ended, killed or lost is found and frozen without anyone reading it."""
