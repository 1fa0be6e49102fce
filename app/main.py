"""Entry of the app: the frame around every page."""

from pathlib import Path

import streamlit as st

from imop_app.views import studio

# A file of ours: an icon named from a font would be fetched from a server far away.
ICON = Path(__file__).with_name("assets") / "icon.svg"

st.set_page_config(
    page_title="IMOP Studio",
    page_icon=str(ICON),
    layout="wide",
    initial_sidebar_state="auto",
)
st.navigation(
    [st.Page(studio.page, title="Studio", icon=":material/query_stats:", default=True)],
    position="hidden",
).run()
