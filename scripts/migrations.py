"""Write supabase/migrations from the migrations of the store: python scripts/migrations.py."""

import sys
from pathlib import Path

from datasmith.storage.supabase import migration_files

FOLDER = Path(__file__).resolve().parents[1] / "supabase" / "migrations"


def main() -> None:
    """Write the files that differ, and delete those that belong to no migration."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = migration_files()
    for path in sorted(FOLDER.glob("*.sql")):
        if path.name not in wanted:
            path.unlink()
            sys.stdout.write(f"deleted: {path.name}\n")
    for name, text in wanted.items():
        path = FOLDER / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"written: {path.name}\n")


if __name__ == "__main__":
    main()
