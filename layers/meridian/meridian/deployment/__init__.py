"""What a deployment does beside creating resources: the schema, and the engine's registration with Restate."""
