"""SQLite: the embedded default, in a file or in memory."""
