"""The only package of the app that calls the engine.

Everything the pages show is computed here or in the engine, and every error the engine raises on
purpose leaves as an `AppError`, whose text is a sentence for the analyst. What is costly is kept by
`st.cache_resource` under frozen settings and content digests, never under the contents of an array:
Streamlit compares only a sample of large ones.
"""
