"""Score agents: run trials, grade patches, report."""
