"""Who thinks: rules, models and coding agents."""
