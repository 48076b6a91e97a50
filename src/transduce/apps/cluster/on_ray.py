"""Runs tasks on a cluster of Ray, whose machines share a file system and have Transduce installed."""

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from docsegments.extras import require
from transduce.apps.cluster.workers import GO_ON, TaskEndedError
from transduce.base.errors import InputError

R = TypeVar("R")
LOCAL = "local"
TRIES = 3
"""The number of times that a task is begun again after its worker or its machine has ended."""


class RayWorkers:
    """A running cluster, or with the address "local" one that is started on this machine; see Workers."""

    def __init__(self, address: str) -> None:
        self._ray = _ray()
        options: dict[str, Any] = {"include_dashboard": False} if address == LOCAL else {}
        try:
            self._ray.init(address, log_to_driver=False, logging_level=logging.ERROR, configure_logging=True, **options)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise InputError(
                f"Ray at {address}: {str(error).splitlines()[0]}; name a cluster (auto, or HOST:PORT), or local"
            ) from None

    def map(self, function: Callable[..., R], *arguments: Sequence[Any]) -> Iterator[R]:
        """See Workers; a task whose worker ends is begun again elsewhere."""
        remote = self._ray.remote(num_cpus=1, max_retries=TRIES, retry_exceptions=[TaskEndedError])(function)
        results = [remote.remote(*task) for task in zip(*arguments, strict=True)]
        try:
            for result in results:
                yield self._ray.get(result)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self._ray.exceptions.RayError as error:
            raise InputError(f"a worker of the cluster was lost ({type(error).__name__}); {GO_ON}") from None
        finally:
            for result in results:
                self._ray.cancel(result, force=True)

    def __enter__(self) -> "RayWorkers":
        return self

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()


def _ray() -> Any:
    require("ray.exceptions", "ray")
    return require("ray", "ray")
