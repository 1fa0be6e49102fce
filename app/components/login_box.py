"""The page of whoever may not come in yet, and the way out for whoever is in."""

from __future__ import annotations

from typing import Final

import streamlit as st

from imop_app import access
from imop_app.components.show import escape

SAID: Final = {
    "nobody": "Log in to see your workspaces.",
    "ended": "Your session has ended. Log in again: nothing of your work is lost.",
    "refused": "is not on the list of those who may come in here. Ask whoever runs this server, or "
    "log in as somebody else.",
}


def lets_in() -> bool:
    """Whether whoever asks may come in; draws the page that says why not."""
    asked = access.asked()
    if asked is None or asked.visitor is not None:
        return asked is not None
    st.title("IMOP Studio", anchor=False)
    said = SAID[asked.reason]
    if asked.reason == "refused":
        said = f"{escape(asked.address or 'An account without a verified address')} {said}"
    st.markdown(said)
    if asked.reason == "refused":
        st.button("Log out", key="login_out", on_click=st.logout)
    else:
        st.button("Log in", key="login_in", type="primary", on_click=st.login)
    return False


def way_out() -> None:
    """Below the rail: who is logged in, and the button that ends the session."""
    visitor = access.visitor()
    if visitor.address:
        with st.sidebar:
            st.caption(escape(visitor.address))
            st.button("Log out", key="log_out", icon=":material/logout:", on_click=st.logout)
