"""One gate for what comes from outside: public functions are called through it.

Arguments that have the same name everywhere have the same rule everywhere, written once below.
Whatever a function cannot use all the same ends in our own error, which says what was given and how
the function is called; the first error stays attached for whoever looks for it.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Generator, Mapping
from numbers import Integral, Real
from typing import Any, Final, TypeVar, cast

import numpy as np

from imop_engine.errors import ImopError, InvalidInput

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
HOME: Final = "imop_engine"  # where most public functions are found
READING: Final = "imop_engine.tables"
Rule = Callable[[str, Any], None]
KEYWORD_ONLY: Final = inspect.Parameter.KEYWORD_ONLY
# What numpy, pandas and Python themselves say of things they cannot use.
FOREIGN: Final = (
    TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError,
    MemoryError, AssertionError, NotImplementedError, BufferError, np.linalg.LinAlgError,
    np.ma.MAError,
)  # fmt: skip
SHOWN: Final = 60  # characters of what was given


def whole(least: int, none: bool = False) -> Rule:
    """A whole number from `least` up, or nothing at all."""

    def check(name: str, value: Any) -> None:
        if value is None and none:
            return
        number = isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))
        if not number or value < least or value >= 2**63:
            raise InvalidInput(
                f"{name} is {shown(value)}; give a whole number from {least} up"
                f"{', or None' if none else ''}."
            )

    return check


def number(least: float, above: bool = False, none: bool = False) -> Rule:
    """A finite number.

    Args:
        least: The least that is right.
        above: Whether the least itself is wrong.
        none: Whether nothing at all is right too.
    """

    def check(name: str, value: Any) -> None:
        if value is None and none:
            return
        real = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
        if not real or not _is_finite(value) or value < least or (above and value == least):
            bound = f"{'above' if above else 'from'} {least:g}{'' if above else ' up'}"
            raise InvalidInput(
                f"{name} is {shown(value)}; give a number {bound}{', or None' if none else ''}."
            )

    return check


def truth_value(name: str, value: Any) -> None:
    """Yes or no."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidInput(f"{name} is {shown(value)}; give True or False.")


def text(name: str, value: Any, none: bool = False) -> None:
    """A text, or nothing at all.

    Args:
        name: What it is called in errors.
        value: What was given.
        none: Whether nothing is right too.
    """
    if not isinstance(value, str) and not (value is None and none):
        raise InvalidInput(f"{name} is {shown(value)}; give a text{' or None' if none else ''}.")


def distance(name: str, value: Any) -> None:
    """A number from 0 up, infinity too, or nothing at all."""
    if value is None or (isinstance(value, float) and value == math.inf):
        return
    number(0.0, none=True)(name, value)


def maybe_text(name: str, value: Any) -> None:
    """A text, or nothing at all."""
    text(name, value, none=True)


def of_class(kind: str, made_by: str) -> Rule:
    """Something of a class of ours, or of numpy's, named to spare the import."""

    def check(name: str, value: Any) -> None:
        if not any(one.__name__ == kind for one in type(value).__mro__):
            raise InvalidInput(f"{name} is {shown(value)}; give {made_by}.")

    return check


RULES: Final[Mapping[str, Rule]] = {
    "problem": of_class("Problem", "a problem, as portfolio_problem makes it"),
    "frontier": of_class("Frontier", "a frontier, as efficient_frontier makes it"),
    "study": of_class("Study", "a study, as run_study makes it"),
    "rng": of_class("Generator", "a generator of numpy, np.random.default_rng(0) say"),
    "node_limit": whole(3),
    "seed": whole(0),
    "draws": whole(1),
    "iterations": whole(1),
    "noise_sd": number(0.0, none=True),
    "risk_aversion": number(0.0, above=True),
    "radius": number(0.0, above=True),
    "limit": distance,
    "undetermined": truth_value,
    "native": truth_value,
    "offline": truth_value,
    "repair": truth_value,
    "report": truth_value,
    "strict": truth_value,
    "rate": number(0.0, above=True),
    "change": number(0.0, above=True),
    "coverage": number(0.0),
    "tolerance": number(0.0),
    "corners": whole(3),
    "folds": whole(2),
    "points": whole(2),
    "retries": whole(0),
    "name": maybe_text,
    **dict.fromkeys(
        ("command", "decimal", "drift", "duplicates", "form", "frequency", "jumps", "kind",
         "layout", "negative", "sums", "units", "unknown"),
        text,
    ),
}  # fmt: skip


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except (OverflowError, TypeError, ValueError):
        return False


def shown(value: Any) -> str:
    """What was given, in a few characters."""
    if isinstance(value, (bool, int, float, str, type(None))) and not _is_long(value):
        text = repr(value)
        return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
    if isinstance(value, int):
        return "a whole number of very many digits"
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return f"{_a(type(value).__name__)} of shape {shape}"
    return _a(type(value).__name__)


def _is_long(value: Any) -> bool:
    return isinstance(value, int) and abs(value) > 10**SHOWN


def _a(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def public(home: str, free: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Put a public function behind the gate where it is written.

    Args:
        home: The module from which users import it.
        free: Arguments that mean something else here than the rules say.

    Returns:
        A decorator.
    """

    def behind(function: F) -> F:
        return cast("F", gated(function, home, free))

    return behind


def gated(
    function: Callable[..., T], home: str = HOME, free: tuple[str, ...] = ()
) -> Callable[..., T]:
    """The same function behind the gate.

    Args:
        function: A public function, or one that makes a generator.
        home: The module from which users import it.
        free: Arguments that mean something else here than the rules say.

    Returns:
        A function that checks what it is given and ends in our own errors only.
    """
    signature = inspect.signature(function)
    name = function.__name__
    parameters = signature.parameters
    places = [one for one in parameters if parameters[one].kind is not KEYWORD_ONLY]
    needed = {one for one in parameters if parameters[one].default is inspect.Parameter.empty}
    ruled = [one for one in parameters if one in RULES and one not in free]
    rules = [(one, RULES[one], parameters[one].default) for one in ruled]
    by_place = [(places.index(one), one, rule, default) for one, rule, default in rules
                if one in places]  # fmt: skip

    def check(arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        given = dict(zip(places, arguments, strict=False)) | options
        is_right = needed <= given.keys() <= parameters.keys()
        if not is_right or len(given) != len(arguments) + len(options):
            try:
                given = signature.bind(*arguments, **options).arguments
            except TypeError as error:
                said = f"{name} {_plainly(error)}; call it as {form(function)}."
                raise InvalidInput(said) from error
        for one, rule, default in rules:
            if one in given and given[one] is not default:
                rule(one, given[one])

    @functools.wraps(function)
    def called(*arguments: Any, **options: Any) -> T:
        # The frontier of a few assets takes ten microseconds: so do not look for names in vain.
        count = len(arguments)
        if options or not needed.issubset(places[:count]) or count > len(places):
            check(arguments, options)
        else:
            for place, one, rule, default in by_place:
                if place < count and arguments[place] is not default:
                    rule(one, arguments[place])
        return within(f"{home}.{name}", function, *arguments, **options)

    return called


def within(name: str, function: Callable[..., T], /, *arguments: Any, **options: Any) -> T:
    """Call a function; what it cannot use ends in our own error.

    Args:
        name: Where the function is found: imop_engine.solve, say.
        function: The function.
        *arguments: Its arguments.
        **options: Those by name.
    """
    try:
        found = function(*arguments, **options)
    except ImopError:
        raise
    except FOREIGN as error:
        raise _not_used(name, function, arguments, options, error) from error
    if inspect.isgenerator(found):
        # its body runs step by step, later than this call
        return cast("T", _steps(found, name, function, arguments, options))
    return found


def _steps(
    made: Generator[Any, Any, Any],
    name: str,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    options: dict[str, Any],
) -> Generator[Any, Any, Any]:
    """The steps of a generator; where one fails the error is our own."""
    try:
        return (yield from made)
    except ImopError:
        raise
    except FOREIGN as error:
        raise _not_used(name, function, arguments, options, error) from error


def _not_used(
    name: str,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    options: dict[str, Any],
    error: BaseException,
) -> BaseException:
    home, _, own = name.rpartition(".")
    if isinstance(error, MemoryError) and home == READING:
        return error  # whoever limits the memory of reading says how much a file may take
    more = f"; help({name}) says what each of them is"
    return _refused(own, function, arguments, options, error, more)


def _refused(
    name: str,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    options: dict[str, Any],
    error: BaseException,
    more: str = "",
) -> InvalidInput:
    """Our own error: what was given, why it cannot be used, how the function is called."""
    said = [shown(one) for one in arguments]
    said += [f"{key}={shown(one)}" for key, one in options.items()]
    return InvalidInput(
        f"{name} cannot use what it was given, ({', '.join(said)}): "
        f"{_plainly(error) or type(error).__name__}. Call it as {form(function)}{more}."
    )


def method(function: Callable[..., T]) -> Callable[..., T]:
    """A method behind the gate: what it cannot use ends in our own error."""
    name = function.__qualname__.removesuffix(".__init__")

    @functools.wraps(function)
    def called(self: Any, /, *arguments: Any, **options: Any) -> T:
        try:
            return function(self, *arguments, **options)
        except ImopError:
            raise
        except FOREIGN as error:
            raise _refused(name, function, arguments, options, error) from error

    return called


def noun(kind: type[T]) -> type[T]:
    """A class whose making goes through the gate."""
    kind.__init__ = method(kind.__init__)  # type: ignore[method-assign]
    return kind


def form(function: Callable[..., Any]) -> str:
    """How a function is called: its name and its arguments."""
    names = [
        one.name if one.default is one.empty else f"{one.name}=…"
        for one in inspect.signature(function).parameters.values()
        if one.name not in ("self", "cls") and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    name = function.__qualname__.removesuffix(".__init__")
    return f"{name}({', '.join(names)})"


def _plainly(error: BaseException) -> str:
    return " ".join(str(error).split())[:200].rstrip(".")
