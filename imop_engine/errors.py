"""Every error the engine raises on purpose: one base class, one sentence, and the remedy in it."""


class ImopError(ValueError):
    """Base of all errors raised on purpose; its text is written for the person who sees it."""


class InvalidInput(ImopError):
    """An argument, a file or a table does not have the form that is needed."""


class Infeasible(ImopError):
    """No decision, or no parameter, satisfies all the constraints at once."""


class SolverUnavailable(ImopError):
    """A solver that was asked for is not installed, has no licence, or refuses the size."""
