"""Media: old images, audio and files become a line of text; the bytes stay in the thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from langchain_core.messages import BaseMessage

from threadkeep.context.planning.draft import Draft
from threadkeep.context.planning.history import AI
from threadkeep.context.planning.limits import Trigger, check_count, check_trigger
from threadkeep.context.planning.marks import Mark
from threadkeep.context.planning.recalling import reference_of
from threadkeep.context.policies.policy import Policy
from threadkeep.context.policies.reducing import amounts
from threadkeep.context.policies.stepping import Stepper, Steps

_KINDS: Final[Mapping[str, str]] = {
    "image": "image", "image_url": "image", "input_image": "image",
    "audio": "audio", "input_audio": "audio",
    "video": "video", "media": "file", "file": "file", "input_file": "file", "document": "file",
}  # fmt: skip
_DATA: Final = ("data", "base64", "file_data", "bytes")
_NESTED: Final = ("source", "image_url", "input_audio", "file", "image", "audio")


@dataclass(frozen=True, kw_only=True)
class Media(Policy):
    """Replace old images, audio, video and files by a line with type, size and reference.

    It goes in steps, so that the prompt's prefix stays the same in between. The last round and the open turn's
    question are never touched.

    Args:
        keep: How many of the newest messages with media stay as they are.
        trigger: How large the view must be, in the forms of `SummaryBuffer`; and the media must be two
            fifths of it. None: whenever those of `step` messages can be replaced.
        step: Media of how many messages are replaced together at least, without a trigger.
        context_window: Tokens of the model's context window, for fractions, where the model does not say.

    Raises:
        ConfigurationError: A value cannot be used.
    """

    name: ClassVar[str] = "media"

    keep: int = 2
    trigger: Trigger | None = None
    step: int = 2
    context_window: int | None = None

    def __post_init__(self) -> None:
        check_count(self.keep, "keep")
        check_count(self.step, "step", least=1)
        if self.trigger is not None:
            check_trigger(self.trigger)
        if self.context_window is not None:
            check_count(self.context_window, "context_window", least=1)

    def apply(self, draft: Draft, mark: Mark | None) -> Mark:
        """Put copies without media in the place of old messages."""
        history, limits = draft.history, draft.request.limits
        messages = history.messages
        candidates = [
            i
            for i, message in enumerate(messages)
            if type(message.content) is list
            and draft.present[i]
            and history.kinds[i] != AI
            and has_media(message)
        ]
        if not candidates:
            return Mark()

        def copied(index: int) -> tuple[BaseMessage, int]:
            reference = reference_of(history, index, index + 1)
            return history.variant(index, ("media", reference), lambda m: without_media(m, reference))

        steps = Steps(
            keep=self.keep, step=self.step, questions=True,
            trigger=tuple(
                amounts(one, limits, self.context_window)
                for one in (check_trigger(self.trigger) if self.trigger is not None else ())
            ),
        )  # fmt: skip
        cut = Stepper(draft, steps, mark, candidates, lambda i: max(0, draft.tokens(i) - copied(i)[1])).cut()
        for index in candidates:
            if index < cut.boundary and index not in draft.copies:
                reference = reference_of(history, index, index + 1)
                draft.references[reference] = (index, index + 1)
                draft.replace(index, copied(index), "replaced", self.name, cut.generation, reference)
        if cut.boundary:
            draft.strip(candidates[0], cut.at)
            draft.advanced = draft.advanced or cut.advanced
        return Mark(generation=cut.generation, boundary=cut.boundary, at=cut.at)


def is_media(block: object) -> bool:
    """Say whether a block of a message's content is an image, audio, a video or a file."""
    return isinstance(block, Mapping) and block.get("type") in _KINDS


def has_media(message: BaseMessage) -> bool:
    """Say whether a message holds media."""
    return isinstance(message.content, list) and any(map(is_media, message.content))


def without_media(message: BaseMessage, reference: str) -> BaseMessage:
    """Return a copy whose media are lines of text; everything else is the same."""
    content = [
        {"type": "text", "text": described(block, reference)} if is_media(block) else block
        for block in message.content
    ]
    return message.model_copy(update={"content": content})


def described(block: Any, reference: str) -> str:
    """Return the line that stands for a medium: kind, type, name, size, reference."""
    parts = [_KINDS[block["type"]]]
    mime = _first(block, ("mime_type", "media_type", "format"))
    name = _first(block, ("filename", "file_name", "title", "file_id"))
    address = _address(block)
    if mime is None and address.startswith("data:"):
        mime = address[5:].partition(";")[0].partition(",")[0]
    size = _size(block, address)
    parts += [one for one in (mime, name) if one]
    if size:
        parts.append(f"{max(1, round(size / 1024)):,} KB")
    elif address and not address.startswith("data:"):
        parts.append(address[:200])
    return f"[{', '.join(parts)}, no longer shown; reference {reference}]"


def _places(block: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    inner = [block[key] for key in (*_NESTED, "extras") if isinstance(block.get(key), Mapping)]
    return [block, *inner]


def _first(block: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    for place in _places(block):
        for key in keys:
            if isinstance(place.get(key), str) and place[key]:
                return str(place[key])
    return None


def _address(block: Mapping[str, Any]) -> str:
    direct = block.get("image_url")
    return direct if isinstance(direct, str) else _first(block, ("url", "file_uri")) or ""


def _size(block: Mapping[str, Any], address: str) -> int:
    """Return about how many bytes a medium has that is part of the message."""
    for place in _places(block):
        for key in _DATA:
            data = place.get(key)
            if isinstance(data, bytes):
                return len(data)
            if isinstance(data, str):
                return len(data) * 3 // 4
    return len(address) * 3 // 4 if address.startswith("data:") else 0
