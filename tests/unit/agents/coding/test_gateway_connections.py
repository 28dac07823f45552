"""Connections of a gateway on real sockets: who hangs up, who does not listen, and how many there are."""

import http.client
import json
import socket
import threading
import time

import pytest

from datasmith.agents.coding.gateway import MOST_AT_ONCE, MOST_CONNECTIONS, SOCKET
from tests.loopback.model_server import playing
from tests.unit.agents.coding.asking import QUESTION, Over, ask, gateway


@pytest.mark.parametrize("hangs_up", [True, False])
def test_an_answer_is_booked_though_the_agent_does_not_listen(hangs_up: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was given and paid for: a step and its tokens, and no outage of the model; hung up, or not read at all."""
    monkeypatch.setattr("datasmith.agents.coding.gateway.LISTEN_TIMEOUT_S", 0.5)
    listener, gone = socket.create_server(("127.0.0.1", 0)), threading.Event()
    usage = b'{"object": "response", "output": [], "usage": {"input_tokens": 11, "output_tokens": 7}}'

    def slow() -> None:
        connection, _ = listener.accept()
        with connection:
            heard = b""
            while not heard.endswith(b"}"):
                heard += connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (3_000_000 + len(usage)))
            gone.wait(20)
            connection.sendall(b" " * 3_000_000 + usage)

    threading.Thread(target=slow, daemon=True).start()
    with listener, gateway(f"http://127.0.0.1:{listener.getsockname()[1]}") as to:
        connection = Over(to.directory / SOCKET)
        connection.request("POST", "/v1/responses", json.dumps(QUESTION))
        assert connection.getresponse().status == 200
        if hangs_up:
            connection.sock.close()
            connection.close()
        gone.set()
        assert to.ledger.settle(20)
        (exchange,) = to.ledger.exchanges
        assert exchange.answered and exchange.reply.tokens.output == 7


def test_an_agent_that_takes_each_part_late_has_hung_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its time is that of the whole answer: part by part it could hold its model back until that breaks off."""
    monkeypatch.setattr("datasmith.agents.coding.gateway.LISTEN_TIMEOUT_S", 1.0)
    usage = b'{"object": "response", "output": [], "usage": {"input_tokens": 11, "output_tokens": 7}}'
    answer = b" " * 3_000_000 + usage
    listener = socket.create_server(("127.0.0.1", 0))

    def model() -> None:
        connection, _ = listener.accept()
        with connection:
            heard = b""
            while not heard.endswith(b"}"):
                heard += connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)

    threading.Thread(target=model, daemon=True).start()
    with listener, gateway(f"http://127.0.0.1:{listener.getsockname()[1]}") as to:
        connection = Over(to.directory / SOCKET)
        connection.request("POST", "/v1/responses", json.dumps(QUESTION), {"Connection": "close"})
        taken = 0
        while part := connection.sock.recv(65536):
            taken += len(part)
            time.sleep(0.1)
        assert taken < len(answer), "each part was taken in a tenth of the time"
        connection.close()
        assert to.ledger.settle(20)
        (exchange,) = to.ledger.exchanges
        assert exchange.answered and exchange.reply.tokens.output == 7


def test_so_many_questions_are_open_at_once_and_no_more() -> None:
    """The others wait for their turn and are answered then; none is lost."""
    listener, all_there, go_on = socket.create_server(("127.0.0.1", 0)), threading.Event(), threading.Event()
    open_ones: list[socket.socket] = []
    answer = b'HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\n{"object": "response"}'

    def model() -> None:
        for number in range(MOST_AT_ONCE + 2):
            if number == MOST_AT_ONCE:
                listener.settimeout(0.3)
                with pytest.raises(TimeoutError):
                    listener.accept()
                listener.settimeout(20)
                all_there.set()
                go_on.wait(20)
                for each in open_ones:
                    each.sendall(answer)
            connection, _ = listener.accept()
            connection.recv(65536)
            open_ones.append(connection)
            if number >= MOST_AT_ONCE:
                connection.sendall(answer)

    found: list[int] = []
    with listener, gateway(f"http://127.0.0.1:{listener.getsockname()[1]}") as to:
        threading.Thread(target=model, daemon=True).start()
        asking = [threading.Thread(target=lambda: found.append(ask(to)[0])) for _ in range(MOST_AT_ONCE + 2)]
        for each in asking:
            each.start()
        assert all_there.wait(20)
        go_on.set()
        for each in asking:
            each.join(20)
        assert found == [200] * (MOST_AT_ONCE + 2)
    for connection in open_ones:
        connection.close()


def test_connections_are_counted() -> None:
    """One too many is closed at once; a place that is left can be taken again."""
    with playing() as model, gateway(model.url) as to:
        idle = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(MOST_CONNECTIONS + 1)]
        for each in idle:
            each.settimeout(20)
            each.connect(str(to.directory / SOCKET))
        assert idle[-1].recv(1) == b""
        for each in idle:
            each.close()
        for _ in range(100):
            try:
                assert ask(to)[0] == 200
                break
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)
        assert len(model.asked) == 1
