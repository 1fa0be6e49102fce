"""imop."""
