"""The open workspace and the others: name, copy, save as one file, open one, delete, bring back."""

from __future__ import annotations

from functools import partial
from typing import Final

import streamlit as st

from imop_app.components.show import download, escape
from imop_app.services import projects
from imop_app.services.errors import ON_PURPOSE, sentence
from imop_app.state import AppState, current, switch
from imop_app.workspace import Entry, deleted_workspaces, recent_workspaces
from imop_engine.sentences.words import word

MOST_DELETED: Final = 5


def box(state: AppState) -> None:
    """What stands below the rail: the open workspace, what can be done with it, and the others."""
    with st.popover(
        escape(state.workspace.name),
        icon=":material/folder_open:",
        width="stretch",
        help=word("workspace"),
    ):
        st.text_input(
            "Name of this workspace",
            value=state.workspace.name,
            key=f"workspace_name_{state.workspace.name}",
            on_change=_rename,
            max_chars=60,
            help="Named by what is in it until you give it a name; empty names it so again.",
        )
        if state.workspace.market is not None:
            _about(state)
        st.button("New workspace", icon=":material/add:", on_click=switch, args=(None,))
        open_file("rail")
        others = [
            entry
            for entry in recent_workspaces(state.workspace.owner)
            if entry.id != state.workspace.id
        ]
        if others:
            st.caption("Open another")
        listed(others, "open")
        deleted("rail", state.workspace.owner)


def _about(state: AppState) -> None:
    """Save, copy, delete; not while a run would be torn in two."""
    running = state.job is not None and state.job.status == "running"
    download(
        "Save as one file",
        partial(projects.packed, state.workspace, state.store),
        projects.file_name(state.workspace),
        "application/zip",
        "Choices, files and runs, to open again here or elsewhere.",
    )
    st.button(
        "Duplicate",
        icon=":material/content_copy:",
        key="workspace_duplicate",
        on_click=_duplicate,
        disabled=running,
        help="A copy with all files and runs, to try something else in.",
    )
    st.button(
        "Delete",
        icon=":material/delete:",
        key="workspace_delete",
        on_click=_delete,
        disabled=running,
        help=f"Can be brought back for {projects.KEPT_DAYS} days.",
    )


def open_file(place: str) -> None:
    """Take a workspace that was saved as one file.

    Args:
        place: Tells two fields on one page apart.
    """
    key = f"workspace_file_{place}"
    st.file_uploader(
        "Open a saved workspace",
        type=[projects.ENDING.removeprefix(".")],
        key=key,
        on_change=_open_file,
        args=(key,),
        help=f"A file ending in {projects.ENDING}, from “Save as one file”. It becomes a workspace "
        "of its own; nothing of yours is replaced.",
    )


def listed(entries: list[Entry], place: str) -> None:
    """A button for each workspace, with the day it was changed.

    Args:
        entries: Which.
        place: Tells two lists on one page apart.
    """
    for entry in entries:
        st.button(
            f"{escape(entry.name)} · {entry.when}",
            key=f"{place}_{entry.id}",
            icon=":material/folder_open:",
            on_click=switch,
            args=(entry.id,),
            type="tertiary",
        )


def deleted(place: str, owner: str) -> None:
    """What was deleted lately, to bring back or to remove for good; nothing where nothing was.

    Args:
        place: Tells two lists on one page apart.
        owner: Whose; "" on a computer without login.
    """
    entries = deleted_workspaces(owner)[:MOST_DELETED]
    if not entries:
        return
    st.caption(f"Deleted; kept for {projects.KEPT_DAYS} days")
    for entry in entries:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                f"Bring back {escape(entry.name)}",
                key=f"{place}_back_{entry.id}",
                icon=":material/undo:",
                on_click=_bring_back,
                args=(entry.id,),
                type="tertiary",
            )
            st.button(
                "Remove for good",
                key=f"{place}_remove_{entry.id}",
                icon=":material/delete_forever:",
                on_click=_remove,
                args=(entry.id,),
                type="tertiary",
                help="With its files and runs; this cannot be undone.",
            )


def was_deleted(state: AppState) -> None:
    """Says so where the open workspace was deleted, in another tab say."""
    if state.workspace.deleted is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="was_deleted"):
        st.warning("This workspace was deleted.", icon=":material/delete:")
        st.button(
            "Bring it back",
            key="workspace_back",
            on_click=_bring_back,
            args=(state.workspace.id,),
        )


def _rename() -> None:
    state = current()
    state.rename(st.session_state[f"workspace_name_{state.workspace.name}"])


def _duplicate() -> None:
    state = current()
    try:
        switch(projects.duplicate(state.workspace, state.store))
    except ON_PURPOSE as error:
        state.trouble = sentence(error)


def _delete() -> None:
    state = current()
    try:
        projects.delete(state.workspace)
        switch(None)
    except ON_PURPOSE as error:
        state.trouble = sentence(error)


def _bring_back(identifier: str) -> None:
    projects.bring_back(identifier, current().workspace.owner)
    switch(identifier)


def _remove(identifier: str) -> None:
    projects.remove(identifier, current().workspace.owner)


def _open_file(key: str) -> None:
    given = st.session_state.get(key)
    if given is None:
        return
    try:
        owner = current().workspace.owner
        switch(projects.unpacked(given.getvalue(), given.name, owner))
    except ON_PURPOSE as error:
        current().trouble = sentence(error)
