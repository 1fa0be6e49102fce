"""Populations: more portfolios than fit into memory, learned from by whoever is there to work.

Reading order: looks (what one part says, and the sums), settling (returns from sums over
everybody), assigning (every investor's weight, written beside), intervals, learn (the whole).
"""
