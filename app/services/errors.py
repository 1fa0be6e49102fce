"""Engine errors become sentences for the analyst."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from imop_engine.errors import ImopError

P = ParamSpec("P")
T = TypeVar("T")


class AppError(Exception):
    """Something the analyst can put right; the text says how.

    `cures` are choices of the reader of a file that may help.
    """

    def __init__(self, text: str, cures: tuple[Any, ...] = ()) -> None:
        super().__init__(text)
        self.cures = cures


# What is raised on purpose, with a sentence for the analyst.
ON_PURPOSE = (AppError, ImopError)


def sentence(error: BaseException) -> str:
    """The error's text, beginning with a capital, unless it begins with the name of a file."""
    text = str(error)
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    return text[:1].upper() + text[1:] if first.isalpha() else text


def describe_error(error: BaseException) -> str:
    """What went wrong in a run, for the analyst: on purpose in its own words, else as our fault."""
    if isinstance(error, ON_PURPOSE):
        return sentence(error)
    return (
        "The run ended for a reason that is not in your data but in the studio "
        f"({type(error).__name__}: {error}). Other settings may work; please report it."
    )


def sentences(function: Callable[P, T]) -> Callable[P, T]:
    """Let what the engine raises on purpose leave as an `AppError`."""

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except ImopError as error:
            raise AppError(sentence(error), getattr(error, "cures", ())) from error
        except FileNotFoundError as error:
            raise AppError(
                f"A file of this workspace is gone ({sentence(error)}); upload it again."
            ) from error

    return wrapped
