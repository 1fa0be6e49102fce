"""What a run shows: charts and tables for the app and for reports, free of any user interface."""
