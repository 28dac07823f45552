"""One stage per file, over one ledger."""
