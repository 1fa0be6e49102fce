"""Sentences for people: what a result says, in words that an analyst can read and quote.

The engine, the shell, the report and the app take their sentences about results from here, so that
one thing is said in one way. Every function is pure: numbers and names in, text out.
Errors are not here: they are written where they are raised, beside what is wrong.
"""
