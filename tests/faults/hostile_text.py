"""Texts that break what is careless with them."""

import random

TEXTS = {
    "a statement": "'); DROP TABLE pull_requests; --",
    "a quoted statement": '"; DELETE FROM stage_items; --',
    "a union": "' UNION SELECT * FROM repositories --",
    "a truth": "' OR '1'='1",
    "a comment": "/* x */ -- x",
    "dollar quotes": "$$; DROP TABLE packages; $$",
    "placeholders": "%s %(a)s :a ? $1 {0} {a} %",
    "backslashes": "\\'; \\x27 \\0 \\",
    "copy's end": "\\.\n",
    "NUL": "a\0b\0",
    "lone surrogates": "\ud800a\udfff",
    "a surrogate pair": "\ud83d\ude00",
    "bidi": "\u202eabc\u2066\u2069\u200f",
    "byte order marks": "\ufeff\ufffe\uffff",
    "controls": "".join(chr(code) for code in range(1, 32)) + "\x7f\x85\u2028\u2029",
    "combining": "e\u0301" * 100,
    "beyond the plane": "\U0010ffff\U0001f600",
    "turkish": "İıŞş",
    "JSON": '{"a": "\\u0000", "b": [1e999, NaN]}',
    "HTML": "<script>alert(1)</script><svg onload=x>&#0;",
    "long": "x\u20ac" * 5_000,
}
"""One of each kind."""

FIVE_MEGABYTES = "x\u20ac\0" * 1_000_000


def fuzzed(n: int, seed: int = 20260203) -> list[str]:
    """So many texts of any code points, the rare and the refused ones often."""
    rng = random.Random(seed)
    odd = [*map(ord, "\0'\"\\%$;-\n\t`"), 0xD800, 0xDFFF, 0xFFFE, 0xFFFD, 0x202E, 0x10FFFF, 0x1F600]
    return [
        "".join(
            chr(rng.choice(odd) if rng.random() < 0.5 else rng.randrange(0x110000)) for _ in range(rng.randrange(40))
        )
        for _ in range(n)
    ]
