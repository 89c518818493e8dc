"""What is known about people, places, projects and organisations, with the messages it comes from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from threadkeep.context.facts import language
from threadkeep.context.facts.fact_values import flat, name_key, normal
from threadkeep.context.facts.facts import CAP
from threadkeep.context.facts.names import names_in
from threadkeep.context.facts.sentences import sentences
from threadkeep.context.planning.history import content_digest
from threadkeep.context.summaries.chunks import chunked
from threadkeep.context.summaries.entity_json import Claim, claims
from threadkeep.context.summaries.fences import enclose, is_own
from threadkeep.context.summaries.prompts import entities_instruction
from threadkeep.context.summaries.rendering import render
from threadkeep.context.summaries.summarizing import Ask, Failed
from threadkeep.context.summaries.wording import Wording, wording_of

MOST_ENTITIES, MOST_FACTS = 60, 6
"""How many entities are kept, and facts of each; those mentioned least recently leave first."""

NOTE_LIMIT, ANSWER_LIMIT = 300, 800
"""Tokens of the note in the view, and of a model's answer, where no other limit is given."""

LONGEST_FACT = 200
"""Characters of one fact."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Name a message that says something: its id (None if it had none) and the digest of its content."""

    message_id: str | None
    digest: str

    @classmethod
    def of(cls, message: BaseMessage) -> Source:
        """Return the source that a message is."""
        return cls(message_id=message.id, digest=content_digest(message).hex())


@dataclass(frozen=True, kw_only=True, slots=True)
class EntityFact:
    """Hold one statement about an entity and the messages that it rests on."""

    text: str
    sources: tuple[Source, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Entity:
    """Hold what is known about one person, place, project or organisation; the newest facts come last.

    Args:
        name: As it was written last.
        kind: `person`, `place`, `project`, `organisation`, or empty where that is unknown.
        facts: What was said about it.
    """

    name: str
    kind: str
    facts: tuple[EntityFact, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Entities:
    """Hold all entities of a conversation; the one mentioned last comes last.

    Args:
        entities: At most `MOST_ENTITIES`.
        covered: How many messages were searched.
        language: The conversation's language (ISO 639-1), if known.
    """

    entities: tuple[Entity, ...] = ()
    covered: int = 0
    language: str | None = None

    def valid(self, digests: Collection[str]) -> Entities:
        """Return the entities without facts of which a source was changed or deleted.

        Args:
            digests: Digests of the contents that are still there, in hexadecimal.
        """
        kept = []
        for entity in self.entities:
            facts = tuple(f for f in entity.facts if all(source.digest in digests for source in f.sources))
            if facts:
                kept.append(replace(entity, facts=facts))
        return replace(self, entities=tuple(kept))

    def to_json(self) -> dict[str, Any]:
        """Return the entities as JSON types, for storage."""
        return {
            "covered": self.covered,
            "language": self.language,
            "entities": [
                [e.name, e.kind, [[f.text, [[s.message_id, s.digest] for s in f.sources]] for f in e.facts]]
                for e in self.entities
            ],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Entities:
        """Return the entities that `to_json` wrote."""
        return cls(
            covered=data["covered"],
            language=data["language"],
            entities=tuple(
                Entity(name=name, kind=kind, facts=tuple(_fact_from(fact) for fact in facts))
                for name, kind, facts in data["entities"]
            ),
        )


def _fact_from(data: list[Any]) -> EntityFact:
    text, sources = data
    return EntityFact(text=text, sources=tuple(Source(message_id=s[0], digest=s[1]) for s in sources))


NOTHING = Entities()


def extract_entities(
    messages: Sequence[BaseMessage],
    *,
    count: Callable[[str], int],
    known: Entities = NOTHING,
    window: int = 8_192,
    limit: int = ANSWER_LIMIT,
    prompt: str | None = None,
    tongue: str | None = None,
) -> Generator[Ask, str, Entities | Failed]:
    """Ask a model for the entities in new messages, yielding each call to make.

    Nothing is raised: an exception that is thrown in, or an answer that holds no JSON, ends in `Failed`, and what was
    known still holds. A statement that names no message and an entity that no message names are left out.

    Args:
        messages: New messages, in order.
        count: Counts the tokens of a text.
        known: What is known from still earlier messages.
        window: Tokens that the model takes and gives in one call; more messages are asked about in chunks.
        limit: Tokens of an answer.
        prompt: Instructions instead of the built-in ones; braces are harmless.
        tongue: The language of the facts (ISO 639-1); by default the conversation's.
    """
    tongue = tongue or language.of(messages) or known.language
    asked = entities_instruction(prompt, tongue)
    shown = {number: message for number, message in enumerate(messages, 1) if render(message)}
    entries = [f"#{number} {render(message)}" for number, message in shown.items()]
    found: list[tuple[Claim, list[BaseMessage]]] = []
    for chunk in chunked(entries, window - limit - count(asked), count):
        if chunk is None:
            return Failed(reason="window", text=f"the model's window of {window} tokens has no room")
        try:
            answer = yield Ask(messages=_call(asked, chunk), max_tokens=limit, purpose="extraction")
        except Exception as error:
            return Failed(reason="error", text=f"the model raised {type(error).__name__}", error=error)
        read = claims(answer)
        if read is None:
            return Failed(reason="unreadable", text="the model's answer holds no JSON")
        found += [(claim, _sources(claim, shown)) for claim in read]
    merged = known
    for claim, sources in found:
        if sources:
            merged = _with(merged, claim, tuple(map(Source.of, sources)))
    return replace(merged, covered=known.covered + len(messages), language=tongue)


def named_entities(messages: Sequence[BaseMessage], *, known: Entities = NOTHING) -> Entities:
    """Find entities without a model: each name that people or answers mention, with the sentences that hold it.

    Args:
        messages: New messages, in order.
        known: What is known from still earlier messages.
    """
    merged = known
    for message in messages:
        if is_own(message) or not isinstance(message, HumanMessage | AIMessage):
            continue
        source = Source.of(message)
        for sentence in sentences(message.text[:CAP]):
            for start, end in names_in(flat(sentence)):
                claim = Claim(name=sentence[start:end], kind="", fact=sentence[:LONGEST_FACT], messages=())
                merged = _with(merged, claim, (source,))
    tongue = language.of(messages) or known.language
    return replace(merged, covered=known.covered + len(messages), language=tongue)


def entities_note(
    entities: Entities,
    *,
    count: Callable[[str], int],
    limit: int = NOTE_LIMIT,
    about: str = "",
    wording: Wording | None = None,
) -> str:
    """Return what is known as a fenced note for the end of a view; empty where there is nothing that fits.

    Args:
        entities: What is known.
        count: Counts the tokens of a text; the note never has more than `limit` by it.
        limit: Tokens.
        about: The newest message: entities that it names come first, then those mentioned last.
        wording: The heading; by default in the conversation's language.
    """
    heading = (wording or wording_of(entities.language)).entities
    said = normal(about)
    newest = list(entities.entities)[::-1]
    newest.sort(key=lambda entity: name_key(entity.name) not in said)
    lines: list[str] = []
    for entity in newest:
        statements = [*lines, _line(entity)]
        if count(enclose("notes", "\n".join([heading, *statements]))) <= limit:
            lines = statements
    return enclose("notes", "\n".join([heading, *lines])) if lines else ""


def _line(entity: Entity) -> str:
    kind = f" ({entity.kind})" if entity.kind else ""
    return f"- {entity.name}{kind}: " + "; ".join(fact.text for fact in reversed(entity.facts))


def _call(asked: str, chunk: str) -> tuple[BaseMessage, ...]:
    return (HumanMessage(f"{asked}\n\n{enclose('conversation', chunk)}"),)


def _sources(claim: Claim, shown: dict[int, BaseMessage]) -> list[BaseMessage]:
    """Return the messages that a claim names, else those that mention its name."""
    named = [shown[number] for number in claim.messages if number in shown]
    if named:
        return named
    key = name_key(claim.name)
    return [message for message in shown.values() if key in normal(message.text)][-1:]


def _with(entities: Entities, claim: Claim, sources: tuple[Source, ...]) -> Entities:
    """Return the entities with one more statement; the entity and the statement become the newest."""
    key, said = name_key(claim.name), normal(claim.fact)
    others = tuple(entity for entity in entities.entities if name_key(entity.name) != key)
    same = next((entity for entity in entities.entities if name_key(entity.name) == key), None)
    facts = tuple(fact for fact in same.facts if normal(fact.text) != said) if same else ()
    facts = (*facts, EntityFact(text=claim.fact, sources=sources))[-MOST_FACTS:]
    entity = Entity(name=claim.name, kind=claim.kind or (same.kind if same else ""), facts=facts)
    return replace(entities, entities=(*others, entity)[-MOST_ENTITIES:])
