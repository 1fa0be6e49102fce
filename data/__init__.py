"""The bundled data, described in SOURCES.md; imop_engine.bundled reads it."""
