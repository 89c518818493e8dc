"""What a plan needs: found in the notes by what it covers, else made, and stored at once."""

from __future__ import annotations

import logging
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from langgraph.constants import TAG_NOSTREAM

from threadkeep.adapters.agents.place import Place
from threadkeep.adapters.agents.record import Lost
from threadkeep.adapters.agents.recorder import recording
from threadkeep.adapters.agents.sessions import Key, Session
from threadkeep.adapters.agents.spending import Spending
from threadkeep.adapters.agents.steps import Flow, Step
from threadkeep.adapters.models import chat_model
from threadkeep.context.counting.tokens import Counter
from threadkeep.context.planning.limits import FALLBACK_WINDOW
from threadkeep.context.planning.plan import Answer, Lasting, Need
from threadkeep.context.policies.offload import Index
from threadkeep.context.providers import context_window, model_name
from threadkeep.context.summaries.entities import Entities
from threadkeep.context.summaries.summarizing import Ask, Failed, SummaryText
from threadkeep.errors import StorageError, UnknownPrice

_log = logging.getLogger(__name__)

LOOKED_UP: Final = 256
"""Shorter coverages that are looked up at most; beyond that the summary is made from the beginning."""

QUIET: Final = (TAG_NOSTREAM, "langsmith:nostream")
"""Tags of model calls that are no part of the conversation a UI shows."""


_FORMS: Final[Mapping[str, Any]] = {"summary": SummaryText, "entities": Entities, "index": Index}


@dataclass(kw_only=True)
class Maker:
    """Meets needs for one model call.

    Args:
        place: Where the call takes place.
        session: What the process knows of the conversation.
        counter: Counts tokens, for the model that is called.
        size: How many messages the conversation has.
        model: The summarizer that the middleware was given.
        fallback: The model that is called, for what cannot be made without a model.
        spending: Sets aside what a summary may take.
        strict: Whether what cannot be made of the messages that are there is lost.
    """

    place: Place
    session: Session
    counter: Counter
    size: int
    model: Any
    fallback: Any
    spending: Spending
    strict: bool = False

    def __post_init__(self) -> None:
        self.answers: dict[Key, Answer] = dict(self.session.answers)
        self._looked: set[Key] = set()

    def meet(self, need: Need) -> Flow[None]:
        """Find what is needed, or a shorter one to go on from, or make it; a failure is an answer, too.

        Raises Lost, if `strict`, for what stands for messages that are not there and is not stored.
        """
        key = (need.fingerprint, need.key)
        failed = self.session.failed(key, self.size)
        if failed is not None:
            self.answers[key] = failed
            return
        if key not in self._looked:
            self._looked.add(key)
            if (yield from self._found(need)):
                return
        if self.strict and need.start >= need.end:
            raise Lost
        answer = yield from self._made(need)
        if isinstance(answer, Failed):
            _log.warning("no %s for policy %r: %s", need.kind, need.policy, answer.text)
            self.session.fail(key, answer, self.size)
            self.answers[key] = answer
        else:
            self._keep(key, (yield from self._stored(need, answer)))

    def _keep(self, key: Key, answer: Answer) -> None:
        self.answers[key] = answer
        self.session.keep(key, answer)

    def _found(self, need: Need) -> Flow[bool]:
        """Look the need up, and what it could be built upon."""
        if self.place.notes is None:
            return False
        keys = [need.key, *islice(need.earlier(), LOOKED_UP)]
        method = "summaries" if need.kind == "summary" else "entities"
        notes = yield Step.of(
            self.place.notes, method, need.fingerprint, [bytes.fromhex(key) for key in keys]
        )
        for key in keys:
            note = notes.get(bytes.fromhex(key))
            answer = None if note is None else _read(need.kind, note.value)
            if answer is not None:
                self._keep((need.fingerprint, key), answer)
                return True
        return False

    def _made(self, need: Need) -> Flow[Answer]:
        model = need.model if need.model is not None else self.model
        if model is None and need.local is not None:
            return (yield Step.work(need.local, self.counter.text))
        model = chat_model(model) if isinstance(model, str) else self.fallback if model is None else model
        work = need.work(self.counter.text, context_window(model) or FALLBACK_WINDOW)
        answer: Any = None
        while True:
            ask, made = yield Step.work(_advanced, work, answer)
            if ask is None:
                return made
            try:
                answer = yield from self._asked(ask, model)
            except UnknownPrice:
                raise
            except Exception as error:  # handed to the summarizer, which answers with a failure
                answer = error

    def _asked(self, ask: Ask, model: Any) -> Flow[str]:
        messages = list(ask.messages)
        tokens = self.counter.count(messages).tokens
        reservation = yield from self.spending.reserve(self.place, model, tokens, ask.max_tokens)
        config: Any = {"tags": list(QUIET)}
        thread, run_id = self.place.thread, self.place.run_id

        def plain() -> Any:
            if thread is None:
                return model.invoke(messages, config)
            with recording(thread, purpose=ask.purpose, run_id=run_id, reservation=reservation):
                return model.invoke(messages, config)

        async def awaited() -> Any:
            if thread is None:
                return await model.ainvoke(messages, config)
            async with recording(thread, purpose=ask.purpose, run_id=run_id, reservation=reservation):
                return await model.ainvoke(messages, config)

        answer = yield Step(plain, awaited)
        text = getattr(answer, "text", answer)
        return str(text)

    def _stored(self, need: Need, answer: Answer) -> Flow[Answer]:
        """Store an answer in a transaction of its own; return what is stored for these contents: the first."""
        if self.place.notes is None:
            return answer
        method = "keep_summary" if need.kind == "summary" else "keep_entities"
        value = {**answer.to_json(), "model": model_name(self._author(need, answer))}
        try:
            note = yield Step.of(self.place.notes, method, need.fingerprint, bytes.fromhex(need.key), value)
        except StorageError as error:
            _log.error("a %s of policy %r could not be stored: %s", need.kind, need.policy, error)
            return answer
        return _read(need.kind, note.value) or answer

    def _author(self, need: Need, answer: Answer) -> Any:
        if getattr(answer, "extract", False):
            return None
        return need.model if need.model is not None else self.model


def keep_lasting(place: Place, session: Session, lasting: Sequence[Lasting]) -> Flow[None]:
    """Store what could not be made again once messages have left the state."""
    for one in lasting:
        session.keep((one.fingerprint, one.key), one.value)
        if place.notes is not None:
            digest = bytes.fromhex(one.key)
            yield Step.of(place.notes, "keep_entities", one.fingerprint, digest, one.value.to_json())


def _advanced(work: Generator[Ask, str, Answer], answer: Any) -> tuple[Ask | None, Answer]:
    """Return what a summarizer asks next, or else what it made; `answer` is None at first, or an exception to throw."""
    try:
        if isinstance(answer, Exception):
            return work.throw(answer), None
        return next(work) if answer is None else work.send(answer), None
    except StopIteration as done:
        return None, done.value


def _read(kind: str, value: Mapping[str, Any]) -> Answer | None:
    """Return what a note holds, None where it cannot be read: it is made again then."""
    try:
        return _FORMS[kind].from_json(dict(value))
    except (KeyError, IndexError, TypeError, ValueError) as error:
        _log.warning("a stored %s cannot be read (%s: %s)", kind, type(error).__name__, error)
        return None
