"""Every experiment of the paper, and what it could not do: `imop reproduce NAME|all`.

One module a figure or table, each with its seeds and settings. `runner` runs their parts on all
cores and keeps what they found; `page` shows it beside the paper's claims.
"""
