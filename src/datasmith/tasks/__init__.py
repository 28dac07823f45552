"""The contract between the halves: what a task is, on disk and in memory."""
