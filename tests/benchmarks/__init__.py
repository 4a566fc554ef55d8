"""The ratios of speed that are asked for, each measured in one run on one machine: `make bench`."""
