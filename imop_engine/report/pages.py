"""HTML pages from templates: whatever is put into a template is escaped there, once, for all pages.

What is trusted to be HTML already has the type `Markup`; only drawings (svg.py) are.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER: Final = "templates"


def render(package: str, template: str, **values: Any) -> str:
    """A page as text.

    Args:
        package: The package whose folder `templates` holds the template.
        template: The template's file name.
        values: What the template names; text in it is escaped.

    Returns:
        The whole page.

    Raises:
        jinja2.UndefinedError: The template names a value that was not given.
    """
    return str(_environment(package).get_template(template).render(**values))


@cache
def _environment(package: str) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package, FOLDER),
        autoescape=True,
        undefined=StrictUndefined,  # a misspelt name is an error, never an empty place on the page
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
