"""Policies as text: `summary-buffer:tokens=2000,keep=10`, several of them joined by `+`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any, Final

from threadkeep.context.policies.buffer import Buffer
from threadkeep.context.policies.head_tail import HeadTail
from threadkeep.context.policies.media import Media
from threadkeep.context.policies.offload import Offload
from threadkeep.context.policies.policy import Policy
from threadkeep.context.policies.remembering import Entities
from threadkeep.context.policies.summary import Summary, SummaryBuffer
from threadkeep.context.policies.tool_results import ToolResults
from threadkeep.context.policies.window import Window
from threadkeep.errors import ConfigurationError

_UNITS: Final = ("tokens", "messages", "turns", "fraction")
_WORDS: Final = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}
_EXAMPLE: Final = "summary-buffer:tokens=2000,keep=10"

Reader = Callable[[str], Any]


class _Unread(Exception):
    """A value that a setting cannot have; the text says what it can."""


def parse_policy(text: str) -> Policy:
    """Return the policy that a text describes.

    A text is a policy's name, or a name, a colon and settings; `+` joins several, which work in this order:
    `buffer`, `window:messages=20`, `window:tokens=4000,to=2000`, `summary-buffer:tokens=2000,keep=10`,
    `head-tail:head=2,tail=10`, `offload:tokens=4000`, `media+tool-results:keep=3+summary-buffer`.

    A size is a number, of messages unless a unit follows: `keep=10`, `keep=500tokens`, `keep=3turns`.
    `tokens=`, `messages=`, `turns=` and `fraction=` say when a policy reduces, of a window how large it is. All other
    settings are those of the policy's class, with `-` or `_`.

    Raises:
        ConfigurationError: A part cannot be read; it names the part, what was expected and the known names.
    """
    if not text.strip():
        raise ConfigurationError(f"policy {text!r} is empty; give one such as {_EXAMPLE}")
    stages = [_stage(part.strip(), text) for part in text.split("+")]
    made = stages[0]
    for stage in stages[1:]:
        made = made | stage
    return made


def policy_text(policy: Policy) -> str:
    """Return a policy as text, its settings but for those that are the default.

    `parse_policy` reads it back where each setting can be written as text; prompts and functions cannot.
    """
    return "+".join(_stage_text(stage) for stage in policy.stages)


def policy_names() -> tuple[str, ...]:
    """Return the names that `parse_policy` knows."""
    return tuple(_KINDS)


# reading values


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise _Unread("a whole number") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise _Unread("a number such as 0.8") from None


def _size(text: str) -> tuple[str, int]:
    amount = text.rstrip("abcdefghijklmnopqrstuvwxyz ")
    unit = text[len(amount) :].strip() or "messages"
    unit = unit if unit.endswith("s") else f"{unit}s"
    if unit not in _UNITS:
        raise _Unread("a number of messages, or one with a unit: 10, 500tokens, 3turns")
    try:
        return (unit, int(amount))
    except ValueError:
        raise _Unread("a number of messages, or one with a unit: 10, 500tokens, 3turns") from None


def _tokens(text: str) -> tuple[str, int]:
    return ("tokens", _whole(text))


def _truth(text: str) -> bool:
    if text.lower() not in _WORDS:
        raise _Unread("yes or no")
    return _WORDS[text.lower()]


def _text(text: str) -> str:
    return text


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split("/") if name)


def _whole_or_none(text: str) -> int | None:
    return None if text.lower() in ("no", "none") else _whole(text)


# the policies


@dataclass(frozen=True, slots=True)
class _Kind:
    """One policy: its class, its settings, and whether units say when it reduces."""

    make: Callable[..., Policy]
    settings: Mapping[str, Reader]
    triggered: bool = True

    def takes(self) -> tuple[str, ...]:
        return (*(_UNITS if self.triggered else ()), *self.settings)


_SUMMARISING: Final[Mapping[str, Reader]] = {
    "limit": _whole,
    "pins": _tokens,
    "facts": _tokens,
    "model": _text,
    "language": _text,
    "recall": _truth,
    "context-window": _whole,
}
_STEPS: Final[Mapping[str, Reader]] = {"keep": _whole, "step": _whole, "context-window": _whole}

_KINDS: Final[Mapping[str, _Kind]] = {
    "buffer": _Kind(Buffer, {}, triggered=False),
    "window": _Kind(
        Window,
        {
            "messages": _whole,
            "tokens": _whole,
            "turns": _whole,
            "fraction": _number,
            "to": _number,
            "context-window": _whole,
        },
        triggered=False,
    ),
    "summary": _Kind(Summary, _SUMMARISING),
    "summary-buffer": _Kind(SummaryBuffer, {"keep": _size, **_SUMMARISING}),
    "head-tail": _Kind(HeadTail, {"head": _size, "tail": _size, "summarise": _truth, **_SUMMARISING}),
    "offload": _Kind(
        Offload,
        {
            "keep": _size,
            "index": _whole,
            "large": _whole_or_none,
            "preview": _whole,
            "context-window": _whole,
        },
    ),
    "entities": _Kind(
        Entities, {"every": _whole, "limit": _whole, "model": _text, "language": _text}, triggered=False
    ),
    "tool-results": _Kind(ToolResults, {"shorten": _whole, "exclude": _names, **_STEPS}),
    "media": _Kind(Media, _STEPS),
}


def _stage(part: str, whole: str) -> Policy:
    name, _, rest = part.partition(":")
    kind = _KINDS.get(_plain(name))
    if kind is None:
        raise _refused(
            whole, part, f"there is no policy {name.strip()!r}{_near(_plain(name), _KINDS)}", tuple(_KINDS)
        )
    given = _settings(kind, _plain(name), rest, part, whole)
    trigger = [unit for unit in _UNITS if kind.triggered and unit in given]
    if len(trigger) > 1:
        raise _refused(whole, part, f"{' and '.join(trigger)} both say when to reduce; give one of them")
    options = {key.replace("-", "_"): value for key, value in given.items() if key not in trigger}
    if trigger:
        options["trigger"] = (trigger[0], given[trigger[0]])
    try:
        return kind.make(**options)
    except ConfigurationError as error:
        raise _refused(whole, part, error.message.rstrip(".")) from error


def _settings(kind: _Kind, name: str, rest: str, part: str, whole: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for setting in (one.strip() for one in rest.split(",")) if rest.strip() else ():
        key, sign, value = setting.partition("=")
        key, value = _plain(key), value.strip()
        if not sign or not value:
            raise _refused(whole, part, f"{setting!r} is no setting; expected name=value", kind.takes())
        reader = kind.settings.get(key) or _unit_reader(kind, key)
        if reader is None:
            raise _refused(
                whole, part, f"{name} has no setting {key!r}{_near(key, kind.takes())}", kind.takes()
            )
        if key in found:
            raise _refused(whole, part, f"{key} is given twice; give it once")
        try:
            found[key] = reader(value)
        except _Unread as unread:
            raise _refused(whole, part, f"{key} is {value!r}; expected {unread}") from None
    if isinstance(to := found.get("to"), float) and "fraction" not in found and to == int(to):
        found["to"] = int(to)
    return found


def _unit_reader(kind: _Kind, key: str) -> Reader | None:
    if not kind.triggered or key not in _UNITS:
        return None
    return _number if key == "fraction" else _whole


def _plain(name: str) -> str:
    return name.strip().lower().replace("_", "-")


def _near(name: str, known: Mapping[str, Any] | Sequence[str]) -> str:
    close = get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _refused(whole: str, part: str, fault: str, known: Sequence[str] = ()) -> ConfigurationError:
    where = f"policy {whole!r}" + (f", part {part!r}" if part != whole.strip() else "")
    end = f"; known are {', '.join(known)}" if known else ""
    return ConfigurationError(f"{where}: {fault}{end}", option="policy", value=whole)


# writing


def _stage_text(stage: Policy) -> str:
    said = []
    for one in fields(stage):
        value = getattr(stage, one.name)
        if one.compare and value is not None and value != one.default:
            said.extend(_setting_text(one.name, value))
    return f"{stage.name}:{','.join(said)}" if said else stage.name


def _setting_text(name: str, value: Any) -> list[str]:
    key = name.replace("_", "-")
    if name == "trigger":
        return _trigger_text(value)
    if isinstance(value, bool):
        return [f"{key}={'yes' if value else 'no'}"]
    if isinstance(value, int | float | str):
        return [f"{key}={value}"]
    if isinstance(value, tuple) and len(value) == 2 and value[0] in _UNITS:
        plain = name in ("pins", "facts") or value[0] == "messages"
        return [f"{key}={value[1]}{'' if plain else value[0]}"]
    if isinstance(value, tuple):
        return [f"{key}={'/'.join(map(str, value))}"]
    named = next((v for a in ("model_name", "model") if isinstance(v := getattr(value, a, None), str)), None)
    return [f"{key}={named or type(value).__qualname__}"]


def _trigger_text(trigger: Any) -> list[str]:
    if isinstance(trigger, tuple) and len(trigger) == 2 and trigger[0] in _UNITS:
        return [f"{trigger[0]}={trigger[1]}"]
    return [f"trigger={trigger}"]
