// The HTTP service: to come.
