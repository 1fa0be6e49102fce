"""Entry of the app: the frame around every page."""

from pathlib import Path

import streamlit as st

from imop_app import warmup
from imop_app.components import frame, login_box, show, status
from imop_app.state import current

# A file of ours: an icon named from a font would be fetched from a server far away.
ICON = Path(__file__).with_name("assets") / "icon.svg"
LOGO = Path(__file__).with_name("assets") / "logo.svg"
# Streamlit's own margins take a quarter of a laptop's width; pages here are made of charts.
STYLE = Path(__file__).with_name("assets") / "style.css"
# The one script of ours: where the keyboard goes on when what was pressed has gone.
FOCUS = Path(__file__).with_name("assets") / "focus.html"

st.set_page_config(
    page_title="IMOP Studio",
    page_icon=str(ICON),
    layout="wide",
    initial_sidebar_state="auto",
)
st.html(STYLE)
st.html(FOCUS, unsafe_allow_javascript=True)
st.logo(str(LOGO), size="large", icon_image=str(ICON))
with show.guarded():
    if login_box.lets_in():
        state = current()
        page = frame.navigation(state)
        frame.workspace_box(state)
        login_box.way_out()
        status.strip(state)
        page.run()
warmup.begin()
