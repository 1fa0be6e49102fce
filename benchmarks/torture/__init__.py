"""What the house withstands: kills, damaged folders, nasty calls, many users; each with a seed.

`make torture` runs all of it and writes docs/reliability.md; the tests run a little of it.
"""
