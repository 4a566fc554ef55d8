"""The run index: every run that was started, found, filtered and counted, and its end for good."""
