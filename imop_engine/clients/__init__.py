"""What a study says of one client: score, sheet, trades, stated against held risk, what if."""
