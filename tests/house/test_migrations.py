"""supabase/migrations says what the store's own migrations say."""

import re

from scripts.migrations import FOLDER

from datasmith.storage.supabase import migration_files


def test_the_files_for_supabase_are_up_to_date() -> None:
    """Whoever adds a migration runs `make migrations`, too; and nothing else lies there."""
    found = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    assert found == migration_files(), "run: make migrations"


def test_the_files_are_ordered_by_their_names() -> None:
    """Supabase's program applies them by the number in front, which has fourteen digits, and reads no time zones."""
    names = list(migration_files())
    assert names == sorted(names) and len({name[:14] for name in names}) == len(names)
    assert all(re.fullmatch(r"\d{14}_[a-z0-9_]+\.sql", name) for name in names)


def test_the_files_leave_the_transaction_to_whoever_applies_them() -> None:
    """A COMMIT inside would end the transaction that also holds the program's note of the migration."""
    for text in migration_files().values():
        assert not re.search(r"^(BEGIN|COMMIT)\b", text, flags=re.MULTILINE | re.IGNORECASE) or "DO $$\nBEGIN\n" in text
        assert "COMMIT;" not in text
