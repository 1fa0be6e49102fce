"""Every error the engine raises on purpose: one base class, one sentence, and the remedy in it."""


class ImopError(ValueError):
    """Base of all errors raised on purpose; its text is written for the person who sees it."""


class InvalidInput(ImopError):
    """An argument, a file or a table does not have the form that is needed."""


class Infeasible(ImopError):
    """No decision, or no parameter, satisfies all the constraints at once."""


class SolverUnavailable(ImopError):
    """A solver that was asked for is not installed, has no licence, or refuses the size."""


class UnreadableFile(InvalidInput):
    """A file or table cannot be understood as what it was given as.

    `cures` are choices that may help, as the readers know them (see `tables.Cure`).
    """

    def __init__(self, message: str, cures: tuple[object, ...] = ()) -> None:
        super().__init__(message)
        self.cures = cures


class ReadingStopped(InvalidInput):
    """Nobody waits any more for the file that was being read."""


class RefusedRows(InvalidInput):
    """Strict reading met rows that would have been changed or left out; `report` lists them."""

    def __init__(self, message: str, report: object = None) -> None:
        super().__init__(message)
        self.report = report


class CannotWrite(ImopError):
    """A file or folder was not written; the text says why, and that nothing else was lost."""


class CannotRead(ImopError):
    """What is kept cannot be read now, or ever; the text says why and what to do."""


class DownloadFailed(ImopError):
    """Prices could not be fetched; the text says what can be used instead."""


class OldStudy(UserWarning):
    """A study was opened of which not everything could be compared with what was saved."""
