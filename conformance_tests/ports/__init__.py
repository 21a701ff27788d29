"""Two whole models: their parts side by side, their weights, and where and why they differ."""
