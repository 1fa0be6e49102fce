"""One file per page: controls, one call of the services, charts."""
