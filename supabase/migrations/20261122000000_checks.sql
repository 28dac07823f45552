-- Made from the migrations of datasmith.storage by `make migrations`: change those, not this file.

-- Running upgrade 0001 -> 0002

ALTER TABLE pull_requests ADD COLUMN licence TEXT;

ALTER TABLE pull_requests ADD CONSTRAINT pull_requests_certificate_status CHECK (certificate_status IN ('valid', 'fragile', 'withdrawn', 'refused'));

ALTER TABLE pull_requests ADD CONSTRAINT pull_requests_confidence CHECK (confidence BETWEEN 0 AND 100);

ALTER TABLE runner_failures ADD CONSTRAINT runner_failures_stage CHECK (stage BETWEEN 1 AND 6);

ALTER TABLE runner_progress ADD CONSTRAINT runner_progress_stage CHECK (stage BETWEEN 1 AND 6);

ALTER TABLE stage_items ADD CONSTRAINT stage_items_counters CHECK (attempts >= 0 AND fence >= 0);

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'anon') THEN
    ALTER TABLE alembic_version ENABLE ROW LEVEL SECURITY;
    ALTER TABLE build_attempts ENABLE ROW LEVEL SECURITY;
    ALTER TABLE candidate_containers ENABLE ROW LEVEL SECURITY;
    ALTER TABLE certificates ENABLE ROW LEVEL SECURITY;
    ALTER TABLE hook_cache ENABLE ROW LEVEL SECURITY;
    ALTER TABLE packages ENABLE ROW LEVEL SECURITY;
    ALTER TABLE pr_contexts ENABLE ROW LEVEL SECURITY;
    ALTER TABLE pull_requests ENABLE ROW LEVEL SECURITY;
    ALTER TABLE repositories ENABLE ROW LEVEL SECURITY;
    ALTER TABLE runner_failures ENABLE ROW LEVEL SECURITY;
    ALTER TABLE runner_progress ENABLE ROW LEVEL SECURITY;
    ALTER TABLE stage_items ENABLE ROW LEVEL SECURITY;
  END IF;
END
$$;

UPDATE alembic_version SET version_num='0002' WHERE alembic_version.version_num = '0001';
