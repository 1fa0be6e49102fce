"""IMOP Studio in the browser; installed under the name imop_app."""
