"""A letterbox for public addresses: what they name lives elsewhere."""
