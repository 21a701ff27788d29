"""Real libraries taken another way than by default, one module each: see `veriformer.adapters.built_in`."""
