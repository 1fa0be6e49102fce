"""Whose run it is: with a login whoever is logged in; without one a browser is known by a random
cookie that says nothing else of it, and only lets its tabs share one place at work.
"""

from __future__ import annotations

import re
import secrets
from typing import Final

COOKIE: Final = "imop-visitor"
FORM: Final = re.compile(r"[0-9a-f]{32}")


def new_cookie() -> str:
    """What a browser is given that has none: kept until it is closed, for this server alone."""
    return f"{COOKIE}={secrets.token_hex(16)}; Path=/; HttpOnly; SameSite=Strict"


def owner(workspace: str) -> str:
    """Who asks: the browser of the page that is drawn here; the workspace where there is none.

    Args:
        workspace: Its id.
    """
    import streamlit as st
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    from imop_app import access

    if get_script_run_ctx(suppress_warning=True) is None:
        return workspace
    found = access.asked()
    if found is not None and found.visitor is not None and found.visitor.address:
        return found.visitor.address
    known = st.context.cookies.get(COOKIE, "")
    return known if FORM.fullmatch(known) else workspace
