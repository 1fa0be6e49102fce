"""The reading process with a reader that never ends: `python -m tables.endless_reader FD`.

Started as the real one is and not forked from the tests, where the libraries that other tests have
loaded keep threads and open files, which do not survive a fork.
"""

import os
import sys
from pathlib import Path

from imop_engine.tables import readers, reading_process

# The environment variable with the file in which the reader notes its process.
NOTES = "IMOP_TEST_READER"


def forever(source, **options) -> None:
    file = Path(os.environ[NOTES])
    half = file.with_suffix(".half")
    half.write_text(str(os.getpid()))
    half.replace(file)
    while True:
        pass


if __name__ == "__main__":
    readers.READERS["portfolios"] = forever
    reading_process.main(int(sys.argv[1]))
