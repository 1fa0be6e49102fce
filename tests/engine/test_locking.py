"""Only one process compiles at a time, and a killed one leaves the way free."""

import signal
import subprocess
import sys

from imop_engine.locking import alone

HOLD = """
import sys, pathlib
from imop_engine.locking import alone
with alone(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(path):
    started = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert started.stdout.readline() == "held\n"
    return started


def test_who_comes_second_waits_until_the_first_has_ended(tmp_path):
    with holder(tmp_path / "lock") as first:
        waited = []

        def waiting():
            waited.append(first.poll())
            if len(waited) == 3:
                first.stdin.close()

        with alone(tmp_path / "lock", waiting):
            assert first.wait() == 0
    assert waited[:3] == [None] * 3


def test_a_killed_holder_leaves_the_way_free(tmp_path):
    with holder(tmp_path / "lock") as first:
        with alone(tmp_path / "lock", lambda: first.send_signal(signal.SIGKILL)):
            assert first.wait() == -signal.SIGKILL
        first.stdin.close()


def test_a_file_left_behind_locks_nobody(tmp_path):
    (tmp_path / "lock").write_text("of a process long gone")
    for _ in range(2):
        with alone(tmp_path / "lock", lambda: (_ for _ in ()).throw(AssertionError)):
            pass
