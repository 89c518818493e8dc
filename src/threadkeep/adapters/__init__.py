"""Frameworks that Threadkeep serves: one module each, the only place where it is imported."""
