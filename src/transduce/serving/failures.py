"""What a client is told when a request cannot be done."""


class RefusedError(Exception):
    """An answer with an HTTP status and a message."""

    def __init__(self, status: int, message: str, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.retry_after = retry_after
        """Seconds after which to try again; 0 for an answer that would stay the same."""
