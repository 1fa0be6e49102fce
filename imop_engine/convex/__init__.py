"""Problems of any convex form, written in cvxpy and solved hot.

In reading order: answers, by_name, cone (a compiled program), statement (from cvxpy to it), native
(a program of the engine's own class), own (what a problem asks of its program), suboptimality,
problem (`convex_problem`).
"""
