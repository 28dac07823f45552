"""Give away: records, tables and the funnel."""
