"""The four kinds of user error; each message says where, what was found, what was expected and what to do."""


class TransduceError(Exception):
    """Base of every error that the command line prints as one line, without a traceback."""


class ConfigError(TransduceError):
    """A setting is unknown, of the wrong type, or does not fit another."""


class DataError(TransduceError):
    """Training or test data cannot be read, or does not fit together."""


class CheckpointError(TransduceError):
    """A model's or run's folder is missing, damaged, too new, or not what it claims to be."""


class InputError(TransduceError):
    """A request to a finished model that it cannot fulfil."""


class Interrupted(Exception):  # noqa: N818 - nothing went wrong
    """Work was asked to stop, and everything is saved."""
