"""Between values and rows: what a process keeps of a thread, and how values become rows and come back."""
