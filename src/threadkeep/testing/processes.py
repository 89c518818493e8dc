"""Run a piece of a test in a child process."""

from __future__ import annotations

import os
import pickle
import select
import signal
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any

_PATIENCE = 60.0
"""Seconds to wait for a child's answer."""


def in_child(*functions: Callable[[], Any], before_wait: Callable[[], Any] | None = None) -> Any:
    """Run functions in forked children at the same time; return what one returned, or a list of several's.

    `before_wait` is called in this process once all children run. Raises AssertionError with the
    child's traceback when one fails, and when one says nothing for a minute. A child ends without this
    process's exit handlers.
    """
    started = [_start(function) for function in functions]
    if before_wait is not None:
        before_wait()
    results = [_finish(*child) for child in started]
    return results[0] if len(functions) == 1 else results


def _start(function: Callable[[], Any]) -> tuple[int, int]:
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # A process with threads may not fork carelessly; what the child uses here it opens itself.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            os.close(reading)
            answer = pickle.dumps((True, function()))
        except BaseException:
            answer = pickle.dumps((False, traceback.format_exc()))
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(answer)
        os._exit(0)
    os.close(writing)
    return pid, reading


def _finish(pid: int, reading: int) -> Any:
    data = _received(pid, reading)
    _, status = os.waitpid(pid, 0)
    assert data, f"a child process ended with status {status} and said nothing"
    fine, answer = pickle.loads(data)
    assert fine, f"in a child process:\n{answer}"
    return answer


def _received(pid: int, reading: int) -> bytes:
    deadline = time.monotonic() + _PATIENCE
    parts = []
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            os.kill(pid, signal.SIGKILL)
            break
        parts.append(os.read(reading, 1 << 16))
        if not parts[-1]:
            break
    os.close(reading)
    return b"".join(parts)
