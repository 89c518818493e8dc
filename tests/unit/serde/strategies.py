"""Random values of the whole registry, nested in each other, and random messages."""

from __future__ import annotations

import math
import pathlib
from collections import Counter, OrderedDict, defaultdict, deque
from datetime import timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import numpy
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from langchain_core import messages as lc
from langchain_core.documents import Document
from langgraph.types import Command, Interrupt, Overwrite, Send

from tests.unit.serde.kit import Box, Colour, Frozen, Invoice, Level, Loose, Note, Order, Point, Right, Size

TEXTS = st.one_of(
    st.text(max_size=20),
    st.text(st.characters(codec=None, categories=None), max_size=5),  # lone surrogates too
    st.text(alphabet="aĄ🙂 ", min_size=90, max_size=110),
)
KEYS = st.one_of(st.sampled_from(["a", "b", "odd key", "messages", ""]), TEXTS)
NUMBERS = st.one_of(
    st.booleans(),
    st.integers(),
    st.integers(-(2**66), 2**66),
    st.sampled_from([0, -1, 2**31, 2**63, -(2**63), 2**64, -(2**63) - 1, 2**200]),
    st.floats(),
    st.sampled_from([0.0, -0.0, math.nan, math.inf]),
)
_ZONES = st.one_of(
    st.none(),
    st.sampled_from([ZoneInfo("Europe/Kyiv"), ZoneInfo("America/St_Johns"), ZoneInfo("UTC")]),
    st.integers(-86_399, 86_399).map(lambda seconds: timezone(timedelta(seconds=seconds))),
)
_FOLDS = st.integers(0, 1)
TIMES = st.one_of(
    st.dates(),
    st.tuples(st.datetimes(), _ZONES, _FOLDS).map(lambda t: t[0].replace(tzinfo=t[1], fold=t[2])),
    st.tuples(st.times(), _FOLDS).map(lambda t: t[0].replace(fold=t[1])),
    st.timedeltas(),
)
_DTYPES = st.sampled_from(["?", "i1", ">i2", "<u4", "i8", "f2", "f4", ">f8", "c8", "M8[us]", "m8[D]"])
_ARRAYS = st.tuples(_DTYPES, st.binary(max_size=64)).map(
    lambda t: numpy.frombuffer(t[1][: len(t[1]) // 8 * 8], dtype="u1").view(t[0]).copy()
)
SCALARS = st.one_of(
    st.none(),
    NUMBERS,
    TEXTS,
    TIMES,
    st.binary(max_size=30),
    st.uuids(),
    st.decimals(allow_nan=False),
    st.fractions(),
    st.complex_numbers(),
    st.sampled_from([*Size, *Level, *Colour, Right.READ | Right.RUN, ...]),
    st.ip_addresses(),
    st.tuples(st.integers(), st.integers(), st.integers(1, 9)).map(lambda t: range(*t)),
    st.text(alphabet="ab/. ", max_size=9).map(pathlib.PurePosixPath),
)
_HASHABLE = st.recursive(
    SCALARS, lambda inner: st.one_of(st.tuples(inner, inner), st.frozensets(inner, max_size=3)), max_leaves=4
)
_MUTABLE = st.one_of(st.binary(max_size=20).map(bytearray), _ARRAYS)


def _containers(inner: SearchStrategy[Any]) -> SearchStrategy[Any]:
    lists = st.lists(inner, max_size=4)
    named = st.dictionaries(KEYS, inner, max_size=4)
    keyed = st.dictionaries(_HASHABLE, inner, max_size=3)
    return st.one_of(
        lists,
        lists.map(tuple),
        named,
        keyed,
        named.map(OrderedDict),
        keyed.map(lambda items: defaultdict(list, items)),
        st.dictionaries(KEYS, st.integers(), max_size=3).map(Counter),
        st.tuples(lists, st.integers(4, 6)).map(lambda t: deque(*t)),
        st.builds(Point, inner, inner),
        st.builds(Order, st.integers(), lists),
        st.builds(Frozen, inner, inner),
        st.builds(Invoice, number=st.integers(), order=inner),
        st.tuples(named.map(_extras), inner).map(lambda t: _loose(*t)),
        st.builds(Box[int], item=st.integers()),
        st.tuples(st.text(max_size=5), named).map(lambda t: Document(t[0], metadata=t[1])),
        st.builds(Send, st.text(max_size=5), inner),
        st.builds(Command, update=inner, resume=inner),
        st.builds(Interrupt, inner, st.text(max_size=5)),
        st.builds(Overwrite, inner),
        st.lists(messages(inner), min_size=1, max_size=3),
        named.map(lambda state: {"messages": [lc.HumanMessage("x")], **state}),
    )


def _extras(items: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in items.items() if key.isidentifier() and not key.startswith("_")}


def _loose(extras: dict[str, Any], secret: Any) -> Loose:
    made = Loose(**{key: item for key, item in extras.items() if key != "a" and not hasattr(Loose, key)})
    made._secret = secret
    return made


def messages(inner: SearchStrategy[Any]) -> SearchStrategy[Any]:
    """Messages of the common classes whose open fields hold random values."""
    ids = st.one_of(st.none(), st.text(max_size=8))
    named = st.dictionaries(KEYS, inner, max_size=3)
    blocks = st.lists(st.one_of(TEXTS, st.dictionaries(KEYS, inner, max_size=3)), max_size=3)
    content = st.one_of(TEXTS, blocks).map(lambda value: value)
    calls = st.lists(st.builds(_call, st.text(max_size=5), named, ids), max_size=3)
    open_fields = {"id": ids, "additional_kwargs": named, "response_metadata": named}
    return st.one_of(
        *(
            st.builds(_unchecked, st.just(cls), st.fixed_dictionaries({"content": content, **open_fields}))
            for cls in (lc.HumanMessage, lc.SystemMessage, lc.HumanMessageChunk, Note)
        ),
        st.builds(
            _unchecked,
            st.sampled_from([lc.AIMessage, lc.AIMessageChunk]),
            st.fixed_dictionaries(
                {"content": content, "tool_calls": calls, "usage_metadata": USAGE, **open_fields}
            ),
        ),
        st.builds(
            _unchecked,
            st.just(lc.ToolMessage),
            st.fixed_dictionaries(
                {"content": content, "tool_call_id": st.text(max_size=5), "artifact": inner, **open_fields}
            ),
        ),
    )


def _call(name: str, args: Any, call_id: Any) -> dict[str, Any]:
    return {"name": name, "args": args, "id": call_id, "type": "tool_call"}


def _unchecked(cls: Any, fields: dict[str, Any]) -> Any:
    """Build a message without validation, which would copy or change what it is given."""
    extra = {"more": fields["response_metadata"]} if len(fields["response_metadata"]) > 1 else {}
    return cls.model_construct(**fields, **extra)


_COUNTS = st.one_of(st.integers(0, 10**6), st.sampled_from([True, None, 1.0]))
USAGE = st.one_of(
    st.none(),
    st.tuples(
        st.permutations(["input_tokens", "output_tokens", "total_tokens"]) | st.just(None),
        st.lists(_COUNTS, min_size=3, max_size=3),
        st.none() | st.dictionaries(st.sampled_from(["audio", "cache_creation", "cache_read", "x"]), _COUNTS),
        st.none() | st.dictionaries(st.sampled_from(["audio", "reasoning"]), _COUNTS),
    ).map(lambda t: _usage(*t)),
)


def _usage(names: Any, counts: list[Any], inputs: Any, outputs: Any) -> dict[str, Any]:
    usage = dict(zip(names or ["input_tokens", "output_tokens", "total_tokens"], counts, strict=True))
    if inputs is not None:
        usage["input_token_details"] = inputs
    if outputs is not None:
        usage["output_token_details"] = outputs
    return usage


VALUES = st.recursive(st.one_of(SCALARS, _MUTABLE), _containers, max_leaves=12)
MESSAGES = messages(VALUES)
PLAIN = st.recursive(
    st.one_of(st.none(), NUMBERS, TEXTS, st.binary(max_size=9)),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(KEYS, inner, max_size=5)),
    max_leaves=30,
)
