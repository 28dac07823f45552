-- Made from the migrations of datasmith.storage by `make migrations`: change those, not this file.

-- Running upgrade 0003 -> 0004

ALTER TABLE build_attempts ADD COLUMN tier TEXT;

ALTER TABLE build_attempts ADD COLUMN recipe TEXT;

ALTER TABLE build_attempts ADD COLUMN model TEXT;

ALTER TABLE build_attempts ADD COLUMN script TEXT;

ALTER TABLE build_attempts ADD COLUMN cost_usd FLOAT;

UPDATE alembic_version SET version_num='0004' WHERE alembic_version.version_num = '0003';
