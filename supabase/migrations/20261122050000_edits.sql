-- Made from the migrations of datasmith.storage by `make migrations`: change those, not this file.

-- Running upgrade 0002 -> 0003

ALTER TABLE pull_requests ADD COLUMN edited_at TIMESTAMP WITH TIME ZONE;

UPDATE alembic_version SET version_num='0003' WHERE alembic_version.version_num = '0002';
