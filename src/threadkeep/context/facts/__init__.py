"""What must not be lost: requests to remember, and facts such as dates, amounts and names."""

from __future__ import annotations
