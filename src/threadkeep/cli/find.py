"""Find what a few characters on the command line stand for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from threadkeep.cli.text import shown_id
from threadkeep.errors import CheckpointNotFound, ConfigurationError
from threadkeep.models import CheckpointInfo
from threadkeep.thread import Thread

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_STEP = re.compile(r"-?\d{1,9}")
_PAGE = 500
_SHOWN = 3


def checkpoint_id(thread: Thread, wanted: str) -> str:
    """Return the id of the checkpoint that an id, the beginning of one, a step or `newest` names.

    Raises CheckpointNotFound, and ConfigurationError when several could be meant.
    """
    wanted = wanted.strip()
    if _UUID.fullmatch(wanted):
        return wanted
    if wanted == "newest":
        return thread.history(limit=1).items[0].checkpoint_id
    steps: list[CheckpointInfo] = []
    begun: list[CheckpointInfo] = []
    for info in checkpoints(thread):
        if info.checkpoint_id == wanted:
            return wanted
        if _STEP.fullmatch(wanted) and info.step == int(wanted):
            steps.append(info)
        if wanted and info.checkpoint_id.startswith(wanted):
            begun.append(info)
    found = steps or begun
    if len(found) == 1:
        return found[0].checkpoint_id
    raise _several(thread, wanted, found, bool(steps)) if found else _none(thread, wanted)


def checkpoints(
    thread: Thread, *, namespace: str = "", cursor: str | None = None
) -> Iterator[CheckpointInfo]:
    """Yield a thread's checkpoints, newest first."""
    while True:
        page = thread.history(namespace=namespace, limit=_PAGE, cursor=cursor)
        yield from page
        if page.cursor is None:
            return
        cursor = page.cursor


def _several(thread: Thread, wanted: str, found: list[CheckpointInfo], by_step: bool) -> ConfigurationError:
    some = ", ".join(f"{info.checkpoint_id} (branch {info.branch})" for info in found[:_SHOWN])
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    what = f"step {wanted}" if by_step else f"a checkpoint id that begins with {wanted!r}"
    return ConfigurationError(
        f"thread {thread.thread_id!r} has {what} {len(found)} times: {some}{more}; give more of the id"
    )


def _none(thread: Thread, wanted: str) -> CheckpointNotFound:
    return CheckpointNotFound(
        f"thread {thread.thread_id!r} has no checkpoint {wanted!r}, be it an id, its beginning, or a step; "
        f"`threadkeep history {shown_id(thread.thread_id)}` lists those it has",
        thread_id=thread.thread_id,
        checkpoint_id=wanted,
    )
