"""Columns of pull-request parquet files, of whatever type they were written with, as clean expressions."""

from typing import TYPE_CHECKING

from datasmith.errors import ConfigError

if TYPE_CHECKING:
    import polars as pl

REQUIRED = ("repo_name", "pr_number", "pr_merged_at")
_MISSING = r"^\s*(?i:nan|none|null|nat|n/a|<na>)?\s*$"
"""How a table that passed through other programs spells a value that is not there."""
_UTC = (" UTC", " GMT", "Z", "z")
"""How UTC is named; a time without a zone is UTC as well."""
_SHA = r"\b([0-9a-f]{64}|[0-9a-f]{40})\b"
_NESTED_SHA = r"""["']sha["']\s*:\s*["']([0-9a-f]{64}|[0-9a-f]{40})["']"""
_MORE_BARS = r"^(.*)\|([^|]*)\|([^|]*)\|([^|]*)$"
"""Path and counts of a line whose path holds a bar: the last three columns are the counts."""
_CELLS = ("path", "additions", "deletions")
_NO_COUNT = r"^(?:-|(?i:nan|none|null|n/a)?)$"
_RULE = r"^[:\s-]*$"


class Columns:
    """Expressions over a frame with this schema; a column that is missing is null everywhere."""

    def __init__(self, schema: "pl.Schema") -> None:
        self._schema = schema

    def check(self, path: object) -> None:
        """Raises ConfigError where a column is missing without which no pull request can be told."""
        missing = [name for name in REQUIRED if name not in self._schema]
        if missing:
            raise ConfigError(
                f"--offline-source {path} has no column {', '.join(missing)} (columns that are needed: "
                f"{', '.join(REQUIRED)})"
            )

    def all(self) -> "list[pl.Expr]":
        """repo, number, merged_at, created_at, title, body, author, labels, merge_sha, base_sha, patch, summary."""
        return [
            self.text("repo_name").str.strip_chars().alias("repo"),
            self.number("pr_number").alias("number"),
            self.moment("pr_merged_at").alias("merged_at"),
            self.moment("pr_created_at").alias("created_at"),
            self.text("pr_title", cleared=False).alias("title"),
            self.text("pr_body").alias("body"),
            self._field("pr_user", "login").alias("author"),
            self._labels().alias("labels"),
            self.text("pr_merge_commit_sha").str.extract(_SHA).alias("merge_sha"),
            self._base().alias("base_sha"),
            self._first("original_patch", "patch").alias("patch"),
            self.text("file_change_summary").alias("summary"),
        ]

    def text(self, name: str, *, cleared: bool = True) -> "pl.Expr":
        """A text column without NUL; `cleared`: what only says that there is no value is null."""
        import polars as pl

        kind = self._schema.get(name)
        if kind is None or kind.is_nested() or kind.is_float() or kind == pl.Null:
            # A column of numbers where text belongs holds only "not a number".
            return pl.lit(None, pl.String)
        column = pl.col(name).cast(pl.String, strict=False).str.replace_all("\0", "\ufffd", literal=True)
        if not cleared:
            return column
        return pl.when(~column.str.contains(_MISSING)).then(column)

    def number(self, name: str) -> "pl.Expr":
        """A whole number; "1,000" is 1000, and what is none is null."""
        import polars as pl

        kind = self._schema.get(name)
        if kind is not None and kind.is_integer():
            return pl.col(name).cast(pl.Int64, strict=False)
        if kind is not None and kind.is_float():
            whole = pl.col(name) == pl.col(name).floor()
            return pl.when(whole).then(pl.col(name)).cast(pl.Int64, strict=False)
        return whole_number(self.text(name))

    def moment(self, name: str) -> "pl.Expr":
        """An aware UTC moment; a time without zone is taken as UTC."""
        import polars as pl

        kind = self._schema.get(name)
        if isinstance(kind, pl.Datetime):
            column = pl.col(name).cast(pl.Datetime("us", kind.time_zone))
            return column.dt.convert_time_zone("UTC") if kind.time_zone else column.dt.replace_time_zone("UTC")
        if kind == pl.Date:
            return pl.col(name).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
        said = self.text(name).str.strip_chars()
        for zone in _UTC:
            said = said.str.strip_suffix(zone)
        said = said.str.replace("T", " ", literal=True)
        zoned = pl.when(said.str.contains(r"[+-][0-9]{2}:?[0-9]{2}$")).then(said).otherwise(said + "+00:00")
        read = zoned.str.to_datetime("%Y-%m-%d %H:%M:%S%.f%#z", time_unit="us", time_zone="UTC", strict=False)
        day = said.str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
        return pl.coalesce(read, day)

    def _first(self, *names: str) -> "pl.Expr":
        import polars as pl

        return pl.coalesce(*(self.text(name) for name in names))

    def _field(self, name: str, inner: str) -> "pl.Expr":
        """A field of a struct column as text, or null."""
        import polars as pl

        kind = self._schema.get(name)
        if not isinstance(kind, pl.Struct) or dict(kind).get(inner) != pl.String:
            return pl.lit(None, pl.String)
        return pl.col(name).struct.field(inner)

    def _base(self) -> "pl.Expr":
        """The base commit: of `pr_base_sha`, else of `pr_base`, a struct with `sha` or the text of one."""
        import polars as pl

        said = self.text("pr_base")
        whole, nested = said.str.extract(r"^\s*" + _SHA + r"\s*$"), said.str.extract(_NESTED_SHA)
        return pl.coalesce(
            self.text("pr_base_sha").str.extract(_SHA), self._field("pr_base", "sha").str.extract(_SHA), whole, nested
        )

    def _labels(self) -> "pl.Expr":
        """Names of labels: of a list of texts or of structs with `name`."""
        import polars as pl

        kind = self._schema.get("pr_labels")
        names = pl.lit(None, pl.List(pl.String))
        if isinstance(kind, pl.List) and kind.inner == pl.String:
            names = pl.col("pr_labels")
        elif isinstance(kind, pl.List) and isinstance(kind.inner, pl.Struct) and "name" in dict(kind.inner):
            if not dict(kind.inner)["name"].is_nested():
                names = pl.col("pr_labels").list.eval(pl.element().struct.field("name").cast(pl.String))
        elif kind == pl.String:
            quoted = pl.col("pr_labels").str.extract_all(r"""["']name["']\s*:\s*(?:"[^"]*"|'[^']*')""")
            names = quoted.list.eval(pl.element().str.extract(r""":\s*["'](.*)["']$"""))
        return names.list.drop_nulls()


def whole_number(text: "pl.Expr") -> "pl.Expr":
    """Texts like 12, "1,000" and "12.0" as numbers; null where there is none."""
    import polars as pl

    plain = text.str.strip_chars().str.replace_all(",", "", literal=True)
    return plain.str.strip_suffix(".0").cast(pl.Int64, strict=False)


def files_of_summaries(frame: "pl.DataFrame") -> "pl.DataFrame":
    """Every file that the column `summary` lists, in order: row (its place in the frame), path, additions, deletions.

    A summary is a Markdown table. Its heading is told from its rows by their numbers, never by words: a path may hold
    any. A count that is not given (a binary file's) is null.
    """
    import polars as pl

    texts = enumerate(frame["summary"])
    lines = [(row, line) for row, text in texts if text for line in text.split("\n") if "|" in line]
    line = pl.col("line").str.strip_chars().str.strip_prefix("|").str.strip_suffix("|")
    rows = (
        pl.DataFrame(lines, {"row": pl.UInt32, "line": pl.String}, orient="row").with_columns(line).with_row_index("at")
    )
    bars = pl.col("line").str.count_matches("|", literal=True)
    few, many = rows.filter(bars.is_between(2, 3)), rows.filter(bars > 3)
    read = _cells(few.select("at", "row", cell=pl.col("line").str.split_exact("|", 3)))
    if len(many):
        odd = _cells(many.select("at", "row", cell=pl.col("line").str.extract_groups(_MORE_BARS)))
        read = pl.concat([read, odd]).sort("at")
    path, *counts = _CELLS
    is_count = [whole_number(pl.col(name)).is_not_null() | pl.col(name).str.contains(_NO_COUNT) for name in counts]
    kept = read.filter(*is_count, ~pl.col(path).str.contains(_RULE))
    return kept.select("row", pl.col(path).str.strip_chars("`"), *(whole_number(pl.col(name)) for name in counts))


def _cells(rows: "pl.DataFrame") -> "pl.DataFrame":
    """at, row, path, additions and deletions out of rows with `cell`, whose first three fields they are."""
    import polars as pl

    fields = rows.select("at", "row", pl.col("cell").struct.unnest())
    cells = zip(fields.columns[2:5], _CELLS, strict=True)
    return fields.select("at", "row", *(pl.col(old).str.strip_chars().alias(new) for old, new in cells))
