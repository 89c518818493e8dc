"""Policies: what of a conversation goes to the model, kept valid and affordable. The record stays whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from threadkeep.context.budget import Budget
from threadkeep.context.buffer import Buffer
from threadkeep.context.calibration import Calibration
from threadkeep.context.compose import Compose
from threadkeep.context.custom import policy
from threadkeep.context.head_tail import HeadTail
from threadkeep.context.history import History
from threadkeep.context.imports import load_messages
from threadkeep.context.limits import Limits
from threadkeep.context.marks import State
from threadkeep.context.media import Media
from threadkeep.context.offload import Offload
from threadkeep.context.parsing import parse_policy, policy_text
from threadkeep.context.plan import Lasting, Need, Plan, Reason, Request, View
from threadkeep.context.policy import Policy
from threadkeep.context.remembering import Entities
from threadkeep.context.repair import repair
from threadkeep.context.rules import RULES, Rule
from threadkeep.context.simulating import simulate
from threadkeep.context.simulation import Simulation
from threadkeep.context.summary import Summary, SummaryBuffer
from threadkeep.context.tokens import Count, Counter, count_tokens
from threadkeep.context.tool_results import ToolResults
from threadkeep.context.validate import Violation, validate
from threadkeep.context.window import Window
from threadkeep.context.wording import Wording

if TYPE_CHECKING:
    from threadkeep.adapters.agents.middleware import ContextMiddleware

__all__ = [
    "RULES",
    "Budget",
    "Buffer",
    "Calibration",
    "Compose",
    "ContextMiddleware",
    "Count",
    "Counter",
    "Entities",
    "HeadTail",
    "History",
    "Lasting",
    "Limits",
    "Media",
    "Need",
    "Offload",
    "Plan",
    "Policy",
    "Reason",
    "Request",
    "Rule",
    "Simulation",
    "State",
    "Summary",
    "SummaryBuffer",
    "ToolResults",
    "View",
    "Violation",
    "Window",
    "Wording",
    "count_tokens",
    "load_messages",
    "parse_policy",
    "policy",
    "policy_text",
    "repair",
    "simulate",
    "validate",
]


def __getattr__(name: str) -> Any:
    """Import what needs LangChain's agents when it is first asked for."""
    if name == "ContextMiddleware":
        from threadkeep.adapters.agents.middleware import ContextMiddleware

        return ContextMiddleware
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
