"""Answers to requests that are refused, are wrong, or meet an error, in the form of the API that was asked."""

import logging
from collections.abc import Mapping

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse

from docsegments.budget import BudgetError
from transduce.apps.projects.project import DamagedProjectError, UnknownProjectError
from transduce.apps.projects.project_store import StoreError, UnknownSegmentError
from transduce.apps.serving.deepl.api import is_deepl
from transduce.apps.serving.refusals import RefusedError
from transduce.apps.serving.server import Server
from transduce.base.errors import TransduceError

log = logging.getLogger("transduce.serving")


def failure(path: str, message: str, status: int, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Returns an answer with an error, in the form of the path's API."""
    return JSONResponse({"message" if is_deepl(path) else "error": message}, status, headers)


def answer_error(server: Server, error: Exception, path: str) -> JSONResponse:
    """Returns the answer to a request that is refused or wrong; raises an error that is neither."""
    match error:
        case RefusedError():
            headers = {"Retry-After": str(max(1, round(error.retry_after)))} if error.retry_after else None
            return failure(path, error.message, error.status, headers)
        case HTTPException():
            return failure(path, str(error.detail), error.status_code, error.headers)
        case DamagedProjectError():
            return answer_error(server, RefusedError(503, server.told(error), 60.0), path)
        case ClientDisconnect():
            message = "The client has gone away"
        case OSError() | StoreError():
            log.error("a request is refused: %s", error)
            why = str(getattr(error, "strerror", None) or "a file of a project").lower()
            refusal = RefusedError(503, f"The server cannot do this now ({why}); see its log", 10.0)
            return answer_error(server, refusal, path)
        case BudgetError():
            return answer_error(server, RefusedError(413, f"The request is given up: {error}"), path)
        case UnknownProjectError() | UnknownSegmentError():
            return answer_error(server, RefusedError(404, server.told(error)), path)
        case ValidationError():
            first = error.errors()[0]
            message = f"Invalid request: {'.'.join(map(str, first['loc'])) or 'body'}: {first['msg']}"[:300]
        case RequestValidationError():
            first = error.errors()[0]
            message = f"Invalid request: {first['loc'][-1]}: {first['msg']}"[:300]
        case TransduceError():
            message = server.told(error)
        case _:
            raise error
    return failure(path, message, 400)
