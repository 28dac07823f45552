"""Give away: records, tables and the funnel."""

from datasmith.publish.from_store import records_from_supabase

__all__ = ["records_from_supabase"]
