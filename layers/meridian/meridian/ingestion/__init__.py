"""Events in: each starts one run per workflow that receives it, once."""
