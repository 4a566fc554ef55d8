"""Workflow memory: values that workflow nodes keep from one run to the next."""
