// The fake payment provider: to come.
