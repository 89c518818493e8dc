"""How statements meet a database: one folder per backend, the same file names in each."""
