"""The four kinds of user error; each message says where, what was found, what was expected and what to do."""

from docsegments.user_errors import DataError as DataError
from docsegments.user_errors import InputError as InputError
from docsegments.user_errors import UserError

TransduceError = UserError
"""Base of every error that the command line prints as one line, without a traceback."""


class ConfigError(TransduceError):
    """A setting is unknown, of the wrong type, or does not fit another."""


class CheckpointError(TransduceError):
    """A model's or run's folder is missing, damaged, too new, or not what it claims to be."""


class Interrupted(Exception):  # noqa: N818 - nothing went wrong
    """Work was asked to stop, and everything is saved."""
