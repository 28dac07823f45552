"""A filter of system calls for processes that are to stay on the cores they were started on, where no group keeps them.

A program as Linux reads it (seccomp(2), `struct sock_filter`): asking for other cores succeeds and changes nothing, as
it does where a control group has one core; every other call is let through.
"""

import platform
import struct
from collections.abc import Mapping

_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
"""Load a word of the call's description, compare it, end: opcodes of classic BPF."""
_NUMBER_AT, _ARCHITECTURE_AT = 0, 4
_ALLOW, _SUCCEED = 0x7FFF0000, 0x00050000
"""SECCOMP_RET_ALLOW; SECCOMP_RET_ERRNO with error 0."""
_X32 = 0x40000000
_SET_AFFINITY: Mapping[str, Mapping[int, tuple[int, ...]]] = {
    "x86_64": {0xC000003E: (203, 203 | _X32), 0x40000003: (241,)},
    "aarch64": {0xC00000B7: (122,), 0x40000028: (241,)},
}
"""Machine -> AUDIT_ARCH of the programs that run on it -> their numbers of sched_setaffinity."""


def core_filter(machine: str = platform.machine()) -> bytes | None:
    """The filter; None for a machine whose numbers are not known here."""
    if machine not in _SET_AFFINITY:
        return None
    program: list[tuple[int, int, int, int]] = []
    for architecture, numbers in _SET_AFFINITY[machine].items():
        refusing = [(_JUMP_IF_EQUAL, len(numbers) - at, 0, number) for at, number in enumerate(numbers)]
        block = [(_LOAD, 0, 0, _NUMBER_AT), *refusing, (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _SUCCEED)]
        program += [(_LOAD, 0, 0, _ARCHITECTURE_AT), (_JUMP_IF_EQUAL, 0, len(block), architecture), *block]
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *each) for each in program)
