"""Answers for requests that cannot be done."""

from starlette.exceptions import HTTPException


class RefusedError(HTTPException):
    """An answer with an HTTP status and a message; an HTTPException, since FastAPI makes 400 of others in a body."""

    def __init__(self, status: int, message: str, retry_after: float = 0.0) -> None:
        super().__init__(status, message)
        self.status = status
        self.message = message
        self.retry_after = retry_after
        """Seconds after which to try again; 0 for an answer that would stay the same."""
