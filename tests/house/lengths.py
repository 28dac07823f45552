"""Prints how long modules and functions are: python -m tests.house.lengths [ROWS]."""

import statistics
import sys

from tests.house.source import length, package_modules


def table(rows: int) -> str:
    """The longest modules and functions, and the medians of all, as Markdown."""
    modules = sorted(((module.lines, module.name) for module in package_modules()), reverse=True)
    functions = sorted(
        (
            (length(node), f"{module.name}:{node.lineno} {node.name}")
            for module in package_modules()
            for node in module.functions()
        ),
        reverse=True,
    )
    parts = []
    for title, found in (("module", modules), ("function", functions)):
        sizes = [lines for lines, _ in found]
        parts += [f"{len(found)} {title}s, median {statistics.median(sizes):.0f} lines, longest {max(sizes)}", ""]
        parts += [
            f"| lines | {title} |",
            "| --: | --- |",
            *(f"| {lines} | {name} |" for lines, name in found[:rows]),
            "",
        ]
    return "\n".join(parts)


if __name__ == "__main__":
    print(table(int(sys.argv[1]) if len(sys.argv) > 1 else 10))
