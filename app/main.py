"""Entry of the app: the frame around every page."""

import streamlit as st

from imop_app.views import studio

st.set_page_config(
    page_title="IMOP Studio",
    page_icon=":material/query_stats:",
    layout="wide",
    initial_sidebar_state="auto",
)
st.navigation(
    [st.Page(studio.page, title="Studio", icon=":material/query_stats:", default=True)],
    position="hidden",
).run()
