"""What portfolios tell, and how surely: from an estimate to statements an analyst can defend.

In reading order: anchors (what is taken as known), information (what investors say, to first
order), solution (where they want the returns to be), bounds and identify (what is known of each
return), uncertainty and resample (how surely), fit (how well), preferences (what each investor
wants). coverage checks by simulation that intervals keep their promise.
"""
