"""How many of a thing, in words for people."""


def counted(number: int, noun: str) -> str:
    """`1 test`, `2 tests`, `1,000 tests`, `2 repositories`: the noun is given as of one."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun[:-1]}ies" if noun.endswith("y") else f"{number:,} {noun}s"
