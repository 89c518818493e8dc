"""What Threadkeep costs, beside a saver that stores nothing and LangGraph's own savers: `python -m bench`."""
