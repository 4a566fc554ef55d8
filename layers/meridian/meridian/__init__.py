"""The serverless control plane in front of Restate: a package per concept.

`runs` is the run index, `ingestion` turns events into runs, `definitions` keeps the workflows, `settlement`
freezes what ended, `signals` carries decisions, `memory` keeps values between runs, and `engine` executes.
"""
