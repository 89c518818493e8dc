"""What is asked of storage: generators that yield statements, and know no driver and no event loop."""
