"""A package inside the suite."""
