"""Another server's process with the same store: does what it is told on its standard input, a line
each, and says what came of it."""

import json
import sys

from imop_app.database import database
from imop_app.services import learning
from imop_app.services.errors import AppError
from imop_app.state import AppState
from imop_app.store import DatabaseStore
from imop_app.workspace import Workspace, open_workspace


def look(name: str) -> dict:
    opened = open_workspace(name)
    return {
        "name": opened.name,
        "runs": [record.id for record in AppState(opened).store.list()],
        "interrupted": learning.interrupted(opened),
        "can resume": learning.can_resume(opened),
    }


def start(name: str) -> dict:
    return _job(learning.start, name)


def resume(name: str) -> dict:
    return _job(learning.resume, name)


def _job(act, name: str) -> dict:
    state = AppState(open_workspace(name))
    try:
        job = act(state.workspace, state.store)
    except AppError as error:
        return {"refused": str(error)}
    job.wait(600)
    state.adopt()
    return {"status": job.status, "run": job.run, "error": job.error}


def theta(name: str) -> dict:
    store = DatabaseStore(name)
    return {one.id: store.open(one.id).theta.tolist() for one in store.list()}


def rename(name: str) -> dict:
    opened = open_workspace(name)
    opened.name = "Renamed elsewhere"
    opened.save()
    return {}


def crowd(name: str) -> dict:
    """Many small writes of all kinds, while the other server makes its own."""
    for number in range(20):
        made = Workspace(f"{name}-{number}", "Crowd")
        made.save()
        made.box.put("same.csv", b"the same for both")
        made.box.put("own.csv", f"{name}-{number}".encode())
    return {"shared": database().shared}


if __name__ == "__main__":
    for line in sys.stdin:
        what, workspace = line.split()
        print(json.dumps(globals()[what](workspace)), flush=True)
