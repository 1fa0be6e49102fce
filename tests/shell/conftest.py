"""The shell in this process: the same entry as the command, without starting Python again."""

from subprocess import CompletedProcess

import pytest

from imop_engine.cli import main


@pytest.fixture
def run_here(capsys):
    """Runs a command line and gives back what it ended with and printed, as a process would."""

    def run(*arguments: object) -> CompletedProcess[str]:
        given = [str(one) for one in arguments]
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(given)
        out, err = capsys.readouterr()
        return CompletedProcess(given, int(ended.value.code or 0), out, err)

    return run
