"""Return left on the table: how much more a portfolio could earn at its own risk.

    gap(y, r) = max { r'x : x a portfolio within the caps, x'Qx <= y'Qy } - r'y

It is the vertical distance of a portfolio to the frontier, in return a year. It is convex in the
beliefs r, so the beliefs that leave the least on the table (`fit_efficiency`) are found from any
start, without weights to assign and with a proof; and a sum over investors, who enter only by
their variance and by the average of what they hold.

Reading order: inside (what becomes of rounded portfolios), measure, sample, value, cuts, descent,
fit; then stream (the online update), curvature (its second order) and regret (what it can lose).
"""
