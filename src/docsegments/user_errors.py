"""Errors whose messages are for people: each says where, what was found, what was expected and what to do."""


class UserError(Exception):
    """Base of every error that a program shows as one line, without a traceback."""


class DataError(UserError):
    """A file of texts cannot be read, or does not fit together with another."""


class InputError(UserError):
    """A request that cannot be fulfilled."""
