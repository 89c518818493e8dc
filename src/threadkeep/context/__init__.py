"""Policies: what of a conversation goes to the model, kept valid and affordable. The record stays whole."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from threadkeep.adapters.agents.middleware import ContextMiddleware
    from threadkeep.context.budget import Budget
    from threadkeep.context.counting.calibration import Calibration
    from threadkeep.context.counting.tokens import Count, Counter, count_tokens
    from threadkeep.context.files.imports import load_messages
    from threadkeep.context.planning.history import History
    from threadkeep.context.planning.limits import Limits
    from threadkeep.context.planning.marks import State
    from threadkeep.context.planning.plan import Lasting, Need, Plan, Reason, Request, View
    from threadkeep.context.policies.buffer import Buffer
    from threadkeep.context.policies.compose import Compose
    from threadkeep.context.policies.custom import policy
    from threadkeep.context.policies.head_tail import HeadTail
    from threadkeep.context.policies.media import Media
    from threadkeep.context.policies.offload import Offload
    from threadkeep.context.policies.parsing import parse_policy, policy_text
    from threadkeep.context.policies.policy import Policy
    from threadkeep.context.policies.remembering import Entities
    from threadkeep.context.policies.summary import Summary, SummaryBuffer
    from threadkeep.context.policies.tool_results import ToolResults
    from threadkeep.context.policies.window import Window
    from threadkeep.context.simulation.simulating import simulate
    from threadkeep.context.simulation.simulation import Simulation
    from threadkeep.context.summaries.wording import Wording
    from threadkeep.context.validity.repair import repair
    from threadkeep.context.validity.rules import RULES, Rule
    from threadkeep.context.validity.validate import Violation, validate

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

# Loaded when asked for: a memory is opened without most of them, and the middleware needs LangChain's agents.
_HOMES: Final = {
    "RULES": "threadkeep.context.validity.rules",
    "Budget": "threadkeep.context.budget",
    "Buffer": "threadkeep.context.policies.buffer",
    "Calibration": "threadkeep.context.counting.calibration",
    "Compose": "threadkeep.context.policies.compose",
    "ContextMiddleware": "threadkeep.adapters.agents.middleware",
    "Count": "threadkeep.context.counting.tokens",
    "Counter": "threadkeep.context.counting.tokens",
    "Entities": "threadkeep.context.policies.remembering",
    "HeadTail": "threadkeep.context.policies.head_tail",
    "History": "threadkeep.context.planning.history",
    "Lasting": "threadkeep.context.planning.plan",
    "Limits": "threadkeep.context.planning.limits",
    "Media": "threadkeep.context.policies.media",
    "Need": "threadkeep.context.planning.plan",
    "Offload": "threadkeep.context.policies.offload",
    "Plan": "threadkeep.context.planning.plan",
    "Policy": "threadkeep.context.policies.policy",
    "Reason": "threadkeep.context.planning.plan",
    "Request": "threadkeep.context.planning.plan",
    "Rule": "threadkeep.context.validity.rules",
    "Simulation": "threadkeep.context.simulation.simulation",
    "State": "threadkeep.context.planning.marks",
    "Summary": "threadkeep.context.policies.summary",
    "SummaryBuffer": "threadkeep.context.policies.summary",
    "ToolResults": "threadkeep.context.policies.tool_results",
    "View": "threadkeep.context.planning.plan",
    "Violation": "threadkeep.context.validity.validate",
    "Window": "threadkeep.context.policies.window",
    "Wording": "threadkeep.context.summaries.wording",
    "count_tokens": "threadkeep.context.counting.tokens",
    "load_messages": "threadkeep.context.files.imports",
    "parse_policy": "threadkeep.context.policies.parsing",
    "policy": "threadkeep.context.policies.custom",
    "policy_text": "threadkeep.context.policies.parsing",
    "repair": "threadkeep.context.validity.repair",
    "simulate": "threadkeep.context.simulation.simulating",
    "validate": "threadkeep.context.validity.validate",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, *globals()]
