"""What is told of an agent's work: a model that answers by the letter, and a program that asks it so many times."""

import json
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

import pytest

from datasmith.agents.coding import work
from datasmith.agents.coding.base import Usage
from datasmith.agents.coding.budget import Budget
from datasmith.agents.coding.gateway import SOCKET, Upstream
from datasmith.agents.coding.prices import Price
from datasmith.agents.coding.work import MODEL_DIR, CodingCli, Told, Turn, Workplace
from datasmith.docker.engine import Container, ExecResult
from datasmith.errors import ContainerError, EngineUnavailable

BODY = json.dumps({"type": "message", "content": [], "usage": {"input_tokens": 1_000_000, "output_tokens": 0}}).encode()
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY
BROKEN = b'HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\ndata: {"type": "message_start"}\n\n'
NEVER = b""
"""An answer that is still under way when the program has ended."""
QUESTION = b'POST /v1/messages HTTP/1.1\r\nHost: m\r\nContent-Length: 14\r\nConnection: close\r\n\r\n{"model": "m"}'
PRICE = Price(input=1, output=1)


@dataclass
class Playing:
    """A model that gives these answers, as far as it is asked; `asked` is set when it waits with one."""

    answers: Sequence[bytes]
    url: str = ""
    asked: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    def answer(self, listener: socket.socket) -> None:
        # A workplace looks first whether anybody listens.
        listener.accept()[0].close()
        for each in self.answers:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                heard = b""
                while not heard.endswith(b"}"):
                    heard += connection.recv(65536)
                if each is NEVER:
                    self.asked.set()
                    self.over.wait(20)
                connection.sendall(each)


@contextmanager
def playing(answers: Sequence[bytes]) -> Iterator[Playing]:
    model = Playing(answers)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        model.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread = threading.Thread(target=model.answer, args=(listener,), daemon=True)
        thread.start()
        yield model
        model.over.set()
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(20)
        assert not thread.is_alive()


@dataclass
class Sandbox:
    """One whose program asks the model, prints the word of a budget, and leaves a file; or cannot be asked for it."""

    place: Workplace
    model: Playing
    left: bytes | Exception

    def exec(self, *_: object, **__: object) -> ExecResult:
        (shown,) = (mount.source for mount in self.place.mounts if mount.target == MODEL_DIR)
        for each in self.model.answers:
            with socket.socket(socket.AF_UNIX) as end:
                end.settimeout(20)
                end.connect(str(shown / SOCKET))
                end.sendall(QUESTION)
                if each is NEVER:
                    assert self.model.asked.wait(20)
                while each is not NEVER and end.recv(65536):
                    pass
        return ExecResult(1, b"spent", b"", 1.0, 1.0, False)

    def read_file(self, _path: str) -> bytes:
        if isinstance(self.left, Exception):
            raise self.left
        return self.left


def over_budget(text: str) -> Told:
    """What a program says that knows its cost, and stopped at a budget."""
    return Told(0.25, text == "spent")


def turn(*answers: bytes, budget: Budget, leaves: str = "", left: bytes | Exception = b"spent") -> Turn:
    with playing(answers) as model:
        cli = CodingCli(
            "c", "m", ("c",), {}, Upstream(model.url, "x-api-key", "key"), (), leaves=leaves, read=over_budget
        )
        with Workplace(cli, budget) as place:
            return place.work(cast("Container", Sandbox(place, model, left)), "go", timeout_s=20)


def test_what_is_under_way_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither its dollars nor its tokens: those of the other answers are no sum of all."""
    priced = Budget(fallback=PRICE)
    assert turn(ANSWER, ANSWER, budget=priced).usage == Usage(2_000_000, 0, 2.0)
    monkeypatch.setattr(work, "SETTLE_S", 0.0)
    assert turn(ANSWER, NEVER, budget=priced).usage == Usage()


def test_what_an_answer_took_that_broke_off_nobody_knows() -> None:
    """Not even a program that counts by itself: it has not heard the end either."""
    assert turn(ANSWER, budget=Budget()).usage == Usage(1_000_000, 0, 0.25)
    for budget in (Budget(), Budget(fallback=PRICE)):
        found = turn(BROKEN, ANSWER, budget=budget)
        assert found.usage == Usage() and found.requests == 1 and found.steps[-1].request == 2
        assert found.stopped_by is None and found.outage is None


def test_after_an_answer_that_broke_off_the_program_may_try_again() -> None:
    """Within its dollars, whose sum nobody knows then; where all may be gone by it, they are spent."""
    again = turn(BROKEN, ANSWER, budget=Budget(max_cost_usd=5, fallback=PRICE))
    assert again.steps[-1].request == 2 and again.requests == 1 and again.usage.cost_usd is None
    assert again.outage is None
    spent = turn(BROKEN, ANSWER, budget=Budget(max_cost_usd=0.1, fallback=PRICE))
    assert spent.stopped_by == "max_cost_usd=0.1" and spent.outage is None and spent.requests == 0


def test_a_budget_that_nobody_set_ends_nothing() -> None:
    """Whatever a program says; where there is one, and it leaves a file, what it prints says nothing."""
    one = Budget(max_cost_usd=5, fallback=PRICE)
    assert turn(ANSWER, budget=Budget()).stopped_by is None
    assert turn(ANSWER, budget=one).stopped_by == "max_cost_usd=5"
    assert turn(ANSWER, budget=one, leaves="/left").stopped_by == "max_cost_usd=5"
    for left in (b"", FileNotFoundError("/left"), ContainerError("/left is larger than 9 bytes")):
        assert turn(ANSWER, budget=one, leaves="/left", left=left).stopped_by is None
    with pytest.raises(EngineUnavailable):
        turn(ANSWER, budget=one, leaves="/left", left=EngineUnavailable("gone"))
