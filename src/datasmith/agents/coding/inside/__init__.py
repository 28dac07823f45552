"""What runs beside a coding agent in its sandbox: the standard library alone, on any Python from 3.8 on."""
