"""Every exception Threadkeep raises on purpose.

ThreadkeepError
├── ConfigurationError (ValueError)      a URL or an option that cannot be used
│   └── MissingExtra (ImportError)       an optional dependency is not installed
├── InvalidMessages (ValueError)         messages to import are not in a form that is known
├── InvalidThreadId (ValueError)         a thread id that is empty, too long or of another type
├── MemoryClosed (RuntimeError)          the memory was closed
├── NotFound (LookupError)
│   ├── ThreadNotFound
│   ├── CheckpointNotFound
│   └── MessageNotFound
├── StaleRun (RuntimeError)              another run moved the thread on; reload and try again
├── SerializationError (TypeError)       a value in the state that would not come back equal
├── InUse (RuntimeError)                 deleting would break what still refers to it
├── BudgetExceeded (RuntimeError)        the next model call could take more than its budget has left
├── UnknownPrice (LookupError)           money is limited, and a model has no listed price
├── ContextTooLarge (ValueError)         a model refused its input as too long, and a smaller one, too
└── StorageError (OSError)
    ├── StorageBusy (TimeoutError)       a lock was not released in time
    ├── StorageFull                      no space left
    ├── StorageReadOnly (PermissionError)
    ├── NotADatabase                     the file is something else, or damaged
    └── SchemaMissing                    the tables are not there, or are of another version

ThreadkeepWarning (UserWarning)
├── DuplicateHistoryWarning              a run was given messages that its thread holds already
├── ChangedMessageWarning                a stored message was changed in place; the record was not
├── LedgerWarning                        a model call could not be recorded; the usage is incomplete
├── MiddlewareOrderWarning               another middleware stands where it changes what was planned
└── UnknownContextWindowWarning          a fraction was taken of an assumed context window
"""

from __future__ import annotations

from typing import Any


class ThreadkeepError(Exception):
    """Root of everything Threadkeep raises on purpose."""

    retryable: bool = False

    def __init__(self, message: str, **fields: Any) -> None:
        super().__init__(message)
        self.message = message
        self.fields = fields
        for name, value in fields.items():
            setattr(self, name, value)

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self.fields)


def _rebuild(kind: type[ThreadkeepError], message: str, fields: dict[str, Any]) -> ThreadkeepError:
    return kind(message, **fields)


class ConfigurationError(ThreadkeepError, ValueError):
    """A URL or an option cannot be used; the message says which and what is possible."""


class MissingExtra(ConfigurationError, ImportError):
    """An optional dependency is not installed; the message holds the install line."""


class InvalidMessages(ThreadkeepError, ValueError):
    """Messages to import are not in a form that is known; fields `index`, `found` and `expected`."""


class InvalidThreadId(ThreadkeepError, ValueError):
    """A thread id is empty, longer than 1,024 characters, or neither text nor an integer."""


class MemoryClosed(ThreadkeepError, RuntimeError):
    """The memory was closed before this call."""


class NotFound(ThreadkeepError, LookupError):
    """Something was addressed that is not there."""


class ThreadNotFound(NotFound):
    """No thread has this id (for this owner)."""


class CheckpointNotFound(NotFound):
    """The thread has no checkpoint with this id."""


class MessageNotFound(NotFound):
    """The thread's transcript has no message with this id."""


class StaleRun(ThreadkeepError, RuntimeError):
    """Another run moved the thread on since this one loaded it, so its write was refused.

    Fields: `thread_id`, `expected` and `actual` checkpoint ids (None for an empty thread).
    """

    retryable = True


class SerializationError(ThreadkeepError, TypeError):
    """A value would not come back equal; `path` says where in the state it is."""


class InUse(ThreadkeepError, RuntimeError):
    """A deletion was refused because what remains could not be read without it."""


class BudgetExceeded(ThreadkeepError, RuntimeError):
    """The next model call could take more than its budget has left, so it was not made.

    Fields: `thread_id`, `per`, and for `tokens` and `money` each `spent_`, `reserved_`, `call_` (what the call may
    take) and `limit_`.
    """


class UnknownPrice(ThreadkeepError, LookupError):
    """A budget limits money, and a model has no listed price."""


class ContextTooLarge(ThreadkeepError, ValueError):
    """A model refused its input as too long, and what a policy made of it then as well.

    Fields: `thread_id`, `model`, `tokens` and `reduced_tokens`, both estimates.
    """


class StorageError(ThreadkeepError, OSError):
    """The database could not do what was asked."""


class StorageBusy(StorageError, TimeoutError):
    """A lock was held by somebody else for longer than `lock_timeout` seconds."""

    retryable = True


class StorageFull(StorageError):
    """No space is left where the database lives."""

    retryable = True


class StorageReadOnly(StorageError, PermissionError):
    """The database cannot be written by this process."""


class NotADatabase(StorageError):
    """The file is no database, or is damaged."""


class SchemaMissing(StorageError):
    """The tables are missing, or belong to another version of Threadkeep."""


class ThreadkeepWarning(UserWarning):
    """Root of everything Threadkeep warns of."""


class DuplicateHistoryWarning(ThreadkeepWarning):
    """A run was given, as new input, messages that its thread holds already."""


class ChangedMessageWarning(ThreadkeepWarning):
    """A message of an earlier turn was changed in place; the record keeps what was stored."""


class LedgerWarning(ThreadkeepWarning):
    """A model call could not be recorded, so a thread's usage is incomplete."""


class MiddlewareOrderWarning(ThreadkeepWarning):
    """Another middleware stands between the context's and the model, where it changes or repeats planned calls."""


class UnknownContextWindowWarning(ThreadkeepWarning):
    """A fraction of the context window was asked for, and nothing says how large the model's is."""
