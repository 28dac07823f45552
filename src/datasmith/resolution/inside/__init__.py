"""What runs in a sandbox, with any Python from 3.7 on and nothing but its standard library."""
