"""The socket that a server listens on, which logs a lack of file descriptors for connections."""

import errno
import logging
import os
import socket
import time
from contextlib import suppress

from transduce.apps.serving.connections import raw_answer

SHORTAGE = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
QUIET_SECONDS = 10.0
"""The least seconds between two lines of the log about missing file descriptors."""
log = logging.getLogger("transduce.serving")


class ListeningSocket(socket.socket):
    """A socket with a file descriptor in reserve, with which it refuses (503) clients when there is no other."""

    _reserve = -1
    _logged_at = -QUIET_SECONDS
    refused = 0
    """The number of connections that were refused."""

    def accept(self) -> tuple[socket.socket, object]:
        """See socket; BlockingIOError, as if nobody came, if a client was refused."""
        try:
            return super().accept()
        except OSError as error:
            if error.errno not in SHORTAGE:
                raise
            self._refuse(error)
            raise BlockingIOError(errno.EAGAIN, "refused for want of a file descriptor") from None

    def close(self) -> None:
        """See socket."""
        self._release_reserve()
        super().close()

    def _refuse(self, error: OSError) -> None:
        self._release_reserve()
        try:
            connection, _ = super().accept()
            with connection:
                connection.setblocking(False)
                with suppress(OSError):
                    connection.recv(65536)  # closing with unread data could reset the connection before the answer
                with suppress(OSError):
                    connection.send(raw_answer(503, "The server has no file descriptor left; try again soon"))
            self.refused += 1
        except OSError:
            time.sleep(0.01)  # another thread has taken the descriptor; wait a little
        finally:
            self.hold_reserve()
        if time.monotonic() - self._logged_at >= QUIET_SECONDS:
            self._logged_at = time.monotonic()
            log.error("connections are refused: %s; see `ulimit -n`", str(error.strerror).lower())

    def hold_reserve(self) -> None:
        """Opens a file descriptor in reserve."""
        with suppress(OSError):
            self._reserve = os.open(os.devnull, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))

    def _release_reserve(self) -> None:
        if self._reserve >= 0:
            os.close(self._reserve)
            self._reserve = -1


BACKLOG = 2048
"""The number of connections that the system keeps until they are accepted."""


def listening_socket(host: str, port: int) -> ListeningSocket:
    """Returns a socket that listens at an address; OSError if that is impossible."""
    kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    made = ListeningSocket(kind, socket.SOCK_STREAM)
    try:
        # On Windows SO_REUSEADDR would let a second server listen at the same address.
        option = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
        made.setsockopt(socket.SOL_SOCKET, option, 1)
        if kind == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0 if address[0] == "::" else 1)
        made.bind((address[0], port))
        made.listen(BACKLOG)
        made.setblocking(False)
        made.hold_reserve()
    except OSError:
        made.close()
        raise
    return made
