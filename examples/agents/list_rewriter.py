#!/usr/bin/env python3
"""A scripted agent: rewrites two slow habits wherever it finds them, and knows nothing of the task.

It runs in the working tree of the repository and needs nothing but Python:
- a list that grows by `name = name + [item]` in a loop grows by `name.append(item)` instead;
- `sorted(values)[-1]` and `sorted(values)[0]` become `max(values)` and `min(values)`.

Where it finds neither, it changes nothing. Tests, benchmarks and hidden directories are left alone.
"""

import ast
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

LEFT_ALONE = {"tests", "test", "benchmarks", "asv_bench", "docs", "build", "dist"}
Edit = tuple[ast.stmt | ast.expr, str]


def growing_step(statement: ast.AST, name: str) -> ast.expr | None:
    """The item of `name = name + [item]`, or None where the statement is something else."""
    match statement:
        case ast.Assign(
            targets=[ast.Name(id=target)],
            value=ast.BinOp(left=ast.Name(id=left), op=ast.Add(), right=ast.List(elts=[item])),
        ) if target == left == name and not isinstance(item, ast.Starred):
            return item
    return None


def appends(block: list[ast.stmt], source: str) -> Iterator[Edit]:
    """Edits for `name = []`, directly followed by a loop that uses `name` for nothing but growing it."""
    for start, loop in pairwise(block):
        match start, loop:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=[])), ast.For() | ast.While():
                steps = [(node, growing_step(node, name)) for node in ast.walk(loop)]
                found = [(node, item) for node, item in steps if isinstance(node, ast.stmt) and item]
                uses = sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(loop))
                if uses == 2 * len(found):
                    for node, item in found:
                        yield node, f"{name}.append({ast.get_source_segment(source, item)})"


def extremes(tree: ast.AST, source: str) -> Iterator[Edit]:
    """Edits for the first or last element of a list that is sorted only to take it."""
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=ast.Call(func=ast.Name(id="sorted"), args=[values], keywords=[]), slice=position):
                name = {"0": "min", "-1": "max"}.get(ast.unparse(position))
                if name and not isinstance(values, ast.Starred):
                    yield node, f"{name}({ast.get_source_segment(source, values)})"


def rewrite(source: str) -> str:
    """The source with every habit replaced; one kind after the other, because edits may lie inside each other."""
    edits = list(extremes(ast.parse(source), source))
    source = apply(source, edits)
    tree = ast.parse(source)
    blocks = [getattr(node, "body", None) for node in ast.walk(tree)]
    return apply(source, [edit for block in blocks if isinstance(block, list) for edit in appends(block, source)])


def apply(source: str, edits: list[Edit]) -> str:
    """Replace the source of each node, last one first; a node inside another replaced one is left as it is."""
    data = source.encode()
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    taken = len(data) + 1
    for node, text in sorted(edits, key=lambda edit: (edit[0].lineno, edit[0].col_offset), reverse=True):
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        if end <= taken:
            data = data[:begin] + text.encode() + data[end:]
            taken = begin
    return data.decode()


def main(root: Path) -> int:
    """Rewrite every module below `root`; says which ones changed."""
    changed = 0
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).parts
        if path.is_symlink() or LEFT_ALONE.intersection(parts) or any(part.startswith(".") for part in parts):
            continue
        try:
            before = path.read_text(encoding="utf-8")
            after = rewrite(before)
        except (SyntaxError, UnicodeDecodeError) as error:
            print(f"{path.relative_to(root)}: left alone: {error}")
            continue
        if after != before:
            path.write_text(after, encoding="utf-8")
            changed += 1
            print(f"{path.relative_to(root)}: rewritten")
    print(f"{changed} files changed")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path.cwd()))
