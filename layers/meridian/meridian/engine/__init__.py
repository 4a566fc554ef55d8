"""The engine: executes a definition for one event, durably, on Restate.

The pure part decides: `execution` walks the graph, `nodes` and `calls` evaluate one node each, and what they
need of the world they ask for as an effect (`model`). The rest carries effects out: `services` drives an
execution as a Restate workflow, `http`, `memory` and `record` talk to other systems inside durable steps.
"""
