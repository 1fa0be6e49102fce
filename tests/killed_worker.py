"""A worker of a cluster that dies when a stage has come to a known part."""

import os
import signal


class Killer:
    """Ends one worker by its process number when a stage has come to a known part."""

    def __init__(self, workers, stage, after):
        self.pid = next(iter(workers.client.run(os.getpid).values()))
        self.stage, self.after, self.killed = stage, after, False

    def __call__(self, stage, done, total):
        if not self.killed and stage == self.stage and done >= self.after:
            os.kill(self.pid, signal.SIGKILL)
            self.killed = True
