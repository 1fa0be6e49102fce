"""docs/trust.md."""


def trust_page(results, earlier=None):
    return ""
