"""The way to Restate: httpx's transport over the standard library's HTTP client.

A settlement pass or a list asks Restate for hundreds of runs, and an event's run is sent while its source waits, so
what a call costs by itself counts, and most of it is the client's processor time (docs/decisions.md).
"""

import http.client
import select
import threading

import httpx

MAX_IDLE_CONNECTIONS = 64
DEFAULT_PORTS = {"http": http.client.HTTP_PORT, "https": http.client.HTTPS_PORT}


class FinalAnswer(http.client.HTTPResponse):
    """The answer behind those that only announce one, such as 103; the standard library passes over 100 alone."""

    def begin(self) -> None:
        super().begin()
        while self.status in range(100, 200):
            self.headers = None  # type: ignore[assignment] # nothing read yet
            super().begin()


class KeptConnections(httpx.BaseTransport):
    """Requests to one origin, over connections that are kept open. Safe to share between threads.

    The timeouts of a request are those that httpx gives it: for connecting, and for each wait for the server.
    Answers come read to their end. Raises what httpx's own transport raises.
    """

    def __init__(self, url: str) -> None:
        origin = httpx.URL(url)
        # A port that is given is not looked for in the host, where an IPv6 address has colons.
        self._host, self._port = origin.host, origin.port or DEFAULT_PORTS[origin.scheme]
        self._tls = httpx.create_ssl_context(trust_env=False) if origin.scheme == "https" else None
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        timeouts = request.extensions["timeout"]
        connection = self._taken() or self._connected(timeouts["connect"])
        try:
            answer, content = _exchange(connection, request, timeouts["read"])
        except (httpx.NetworkError, httpx.RemoteProtocolError):
            # Those kept beside it may be as dead without a sign of it, so the next try finds none and connects.
            connection.close()
            self.close()
            raise
        except BaseException:
            connection.close()
            raise
        if answer.will_close:
            connection.close()
        else:
            self._keep(connection)
        # The standard library reads header lines as Latin-1, and httpx would write them as ASCII.
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.getheaders()]
        return httpx.Response(answer.status, headers=headers, content=content, request=request)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _taken(self) -> http.client.HTTPConnection | None:
        """A kept connection that the server has not closed meanwhile: one with something to read was."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            readable = select.poll()
            readable.register(connection.sock, select.POLLIN)
            if not readable.poll(0):
                return connection
            connection.close()

    def _keep(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if len(self._idle) < MAX_IDLE_CONNECTIONS:
                self._idle.append(connection)
                return
        connection.close()

    def _connected(self, timeout: float | None) -> http.client.HTTPConnection:
        connection = (
            http.client.HTTPConnection(self._host, self._port, timeout=timeout)
            if self._tls is None
            else http.client.HTTPSConnection(self._host, self._port, timeout=timeout, context=self._tls)
        )
        connection.response_class = FinalAnswer
        try:
            connection.connect()
        except TimeoutError:
            raise httpx.ConnectTimeout("no connection in time") from None
        except (OSError, UnicodeError) as error:  # UnicodeError: no name of a host
            raise httpx.ConnectError(type(error).__name__) from None
        return connection


def _exchange(
    connection: http.client.HTTPConnection, request: httpx.Request, timeout: float | None
) -> tuple[http.client.HTTPResponse, bytes]:
    """The answer to a request, and its content."""
    connection.sock.settimeout(timeout)
    try:
        target = request.url.raw_path.decode("ascii")
        connection.request(request.method, target, body=request.read() or None, headers=dict(request.headers))
    except TimeoutError:
        raise httpx.WriteTimeout("not sent in time") from None
    except OSError as error:
        raise httpx.WriteError(type(error).__name__) from None
    try:
        answer = connection.getresponse()
        return answer, answer.read()
    except TimeoutError:
        raise httpx.ReadTimeout("no answer in time") from None
    except (http.client.HTTPException, ValueError) as error:  # the connection was closed, or this is no answer
        raise httpx.RemoteProtocolError(type(error).__name__) from None
    except OSError as error:
        raise httpx.ReadError(type(error).__name__) from None
