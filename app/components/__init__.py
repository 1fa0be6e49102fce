"""Parts that pages are made of: each draws, none computes."""
