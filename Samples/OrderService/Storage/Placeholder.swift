// The SQLite store: to come.
