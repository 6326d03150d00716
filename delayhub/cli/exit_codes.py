"""Exit codes of the command line; docs/reference/cli.md lists them, and a test compares the two."""

from __future__ import annotations

from enum import IntEnum

from delayhub.client.errors import (
    ApiError,
    Conflict,
    Forbidden,
    NotFound,
    PreconditionFailed,
    RateLimited,
    ServerUnavailable,
    Unauthorized,
    Unreachable,
    WaitTimeout,
)


class ExitCode(IntEnum):
    """What a program that runs a command learns of how it went."""

    meaning: str

    OK = 0, "done"
    FAILED = 1, "the site refused, or something failed; the message says what"
    USAGE = 2, "the command cannot be understood"
    NOT_FOUND = 3, "it does not exist, or the key may not see it"
    CONFLICT = 4, "its state or version does not allow it"
    NOT_ALLOWED = 5, "the API key is not valid, or lacks a scope"
    UNAVAILABLE = 6, "the site did not answer, or asked to come back later"
    ENDED_BADLY = 7, "what was waited for has ended, but not well"
    TIMED_OUT = 8, "what was waited for has not ended in that time"
    SOME_REFUSED = 9, "some jobs of several were refused"
    INTERRUPTED = 130, "Ctrl-C"

    def __new__(cls, number: int, meaning: str) -> ExitCode:
        """The member of that number."""
        member = int.__new__(cls, number)
        member._value_ = number
        member.meaning = meaning
        return member


def exit_code_of(error: ApiError) -> ExitCode:
    """The exit code for an error of the client."""
    match error:
        case WaitTimeout():
            return ExitCode.TIMED_OUT
        case NotFound():
            return ExitCode.NOT_FOUND
        case Conflict() | PreconditionFailed():
            return ExitCode.CONFLICT
        case Unauthorized() | Forbidden():
            return ExitCode.NOT_ALLOWED
        case Unreachable() | ServerUnavailable() | RateLimited():
            return ExitCode.UNAVAILABLE
    return ExitCode.FAILED
