"""Types of the user: declared ones come back, unknown ones keep their bytes, changed ones are handled."""

from __future__ import annotations

import dataclasses
import enum
from datetime import date
from typing import Any, NamedTuple, TypedDict

import pytest
from langchain_core.messages import HumanMessage
from pydantic import BaseModel, Field, PrivateAttr, RootModel, field_validator
from pydantic.dataclasses import dataclass as pydantic_dataclass

from tests.unit.serde.kit import (
    DECLARED,
    Box,
    Built,
    Colour,
    Frozen,
    Invoice,
    Level,
    Loose,
    Order,
    Point,
    Right,
    Size,
    same,
    serde,
)
from threadkeep.errors import ConfigurationError, SerializationError
from threadkeep.serde import Serde, UnknownType


class Numbers(RootModel[list[int]]):
    pass


class Checked(BaseModel):
    text: str
    hidden: str = Field(default="h", exclude=True, alias="hiddenAs")

    @field_validator("text")
    @classmethod
    def _shout(cls, text: str) -> str:
        return text + "!"


@pydantic_dataclass
class Parsed:
    day: date


@dataclasses.dataclass
class Node:
    value: int
    children: list[Node] = dataclasses.field(default_factory=list)
    _private: int = dataclasses.field(default=1, compare=False)


class Leaf(Node):
    pass


VALUES = {
    "dataclass": Order(3, [{"a": (1,)}, Order(4)]),
    "frozen with slots": Frozen({1, 2}, Frozen(None)),
    "nested": Node(1, [Node(2, _private=5)]),
    "model": Invoice(number=1, order=Order(2), lines=["a"]),
    "model with defaults": Invoice(number=1),
    "model with extras": Loose(a=2, b=[1], c={"d": (1, 2)}),
    "generic model": Box[int](item=3),
    "root model": Numbers([1, 2]),
    "aliases": Checked(text="x", hiddenAs="seen"),
    "dataclass of pydantic": Parsed("2026-01-02"),  # type: ignore[arg-type]
    "enums": [Size.SMALL, Size.HUGE, Level.LOW, Colour.RED],
    "flags": [Right.READ, Right.READ | Right.RUN, Right(0)],
    "named tuple": Point([1], Point(None, 2)),
    "keys": {Size.SMALL: 1, Point(1, 2): 2, Frozen(1): 3, Level.LOW: 4, Colour.RED: 5},
    "in a set": {Size.SMALL, Frozen((1, 2)), Point(1)},
    "in a message": HumanMessage("x", additional_kwargs={"order": Order(1)}),
}


def everything() -> Serde:
    return serde(*DECLARED, Numbers, Checked, Parsed, Node)


@pytest.mark.parametrize("name", VALUES)
def test_a_declared_type_comes_back(name: str) -> None:
    value = VALUES[name]
    back = everything().decode(everything().encode(value))
    assert back == value and same(back, value)


def test_initialisers_do_not_run_again() -> None:
    built = Built("x")
    assert built.shout == "X"
    built.later = [1]  # type: ignore[attr-defined]
    back = serde().decode(serde().encode(built))
    assert (back.built, back.hidden, back.later) == (1, ["x"], [1])
    assert "shout" not in vars(back) and back.shout == "X"
    checked = Checked(text="x")
    assert everything().decode(everything().encode(checked)).text == checked.text == "x!"


def test_what_pydantic_keeps_beside_the_fields_comes_back() -> None:
    loose = Loose(b=1)
    loose._secret = {"k": (1,)}
    back = serde().decode(serde().encode(loose))
    assert back._secret == {"k": (1,)} and back.model_extra == {"b": 1}
    assert back.model_fields_set == loose.model_fields_set == {"b"}
    assert back.model_dump(exclude_unset=True) == {"b": 1}
    back.c = 3
    assert back.model_extra == {"b": 1, "c": 3}


def test_a_subclass_is_another_type() -> None:
    with pytest.raises(SerializationError, match=r"Leaf' is not declared"):
        serde(Node).encode(Leaf(1))
    assert type(serde(Node, Leaf).decode(serde(Node, Leaf).encode(Leaf(1)))) is Leaf


def test_declaring_is_idempotent_and_late() -> None:
    codec = Serde()
    with pytest.raises(SerializationError):
        codec.encode(Order(1))
    codec.allow(Order)
    codec.allow(Order, Order)
    assert codec.decode(codec.encode(Order(1))) == Order(1)


class Movie(TypedDict):
    title: str


def test_types_that_need_no_declaration_are_accepted() -> None:
    import numpy

    Serde((Movie, int, str, dict, list, date, type(None), HumanMessage, numpy.ndarray, ValueError, bytearray))
    codec = Serde([Movie])
    assert codec.decode(codec.encode(Movie(title="x"))) == {"title": "x"}


@dataclasses.dataclass
class Listing(list[int]):
    name: str


class Plain:
    pass


@pytest.mark.parametrize("cls", [Plain, Listing, type, list[int], "Order", lambda: 1, memoryview, int | str])
def test_other_types_cannot_be_declared(cls: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot be declared: a dataclass, a Pydantic model"):
        Serde([cls])


def test_an_unset_field_is_refused() -> None:
    order = Order(1)
    del order.items
    with pytest.raises(SerializationError, match=r"^cannot store value\[0\]: its field 'items' has no value"):
        serde().encode([order])


def test_an_unknown_type_keeps_its_bytes() -> None:
    value = {"a": [Order(1), Size.SMALL, Point(1), Invoice(number=2)]}
    data = serde().encode(value)
    unknown = Serde().decode(data)
    assert [type(item) for item in unknown["a"]] == [UnknownType] * 4
    assert unknown["a"][0].name == "tests.unit.serde.kit:Order"
    assert Serde().encode(unknown) == data
    assert serde().decode(Serde().encode(unknown)) == value
    assert unknown == Serde().decode(data)
    assert unknown["a"][0] != Serde().decode(serde().encode(Order(2)))
    assert len({*unknown["a"], *Serde().decode(data)["a"]}) == 4
    assert "kit:Order" in repr(unknown["a"][0])


def test_an_unknown_type_inside_a_known_one() -> None:
    data = serde().encode(Order(1, [Size.SMALL]))
    half = Serde([Order]).decode(data)
    assert type(half) is Order and type(half.items[0]) is UnknownType
    assert Serde([Order]).encode(half) == data


def other(cls: type, **names: Any) -> Any:
    """Return a class that takes the place of another one, as its next version would."""
    for name, value in {"__module__": cls.__module__, "__qualname__": cls.__qualname__, **names}.items():
        setattr(cls, name, value)
    return cls


def replace(old: type, new: type) -> Any:
    return other(new, __module__=old.__module__, __qualname__=old.__qualname__)


@dataclasses.dataclass
class OrderNext:
    number: int
    customer: str


class PointNext(NamedTuple):
    x: int
    y: int
    z: int


class SizeNext(enum.Enum):
    LITTLE = "s"


def test_a_dataclass_of_another_shape_needs_an_upgrade() -> None:
    data = serde().encode(Order(3, ["x"]))
    codec = Serde([replace(Order, OrderNext)])
    with pytest.raises(SerializationError) as caught:
        codec.decode(data)
    assert "unknown items, total; missing customer" in str(caught.value)
    assert "upgrade(Order, function)" in str(caught.value)
    codec.upgrade(OrderNext, lambda stored: OrderNext(stored["number"], customer=f"of {stored['items']}"))
    assert codec.decode(data) == OrderNext(3, "of ['x']")
    assert codec.decode(codec.encode(OrderNext(1, "c"))) == OrderNext(1, "c")


def test_a_named_tuple_of_another_shape_needs_an_upgrade() -> None:
    data = serde().encode(Point(1, 2))
    codec = Serde([replace(Point, PointNext)])
    with pytest.raises(SerializationError, match=r"missing z"):
        codec.decode(data)
    codec.upgrade(PointNext, lambda stored: PointNext(**stored, z=0))
    assert codec.decode(data) == PointNext(1, 2, 0)


def test_an_enum_without_the_member_needs_an_upgrade() -> None:
    data = serde().encode([Size.SMALL])
    codec = Serde([replace(Size, SizeNext)])
    with pytest.raises(SerializationError, match=r"no member SMALL"):
        codec.decode(data)
    codec.upgrade(SizeNext, lambda stored: {"SMALL": SizeNext.LITTLE}[stored["name"]])
    assert codec.decode(data) == [SizeNext.LITTLE]


class InvoiceText(BaseModel):
    number: str
    order: Any = None
    note: str = "none"
    lines: list[str] = Field(default_factory=list)
    added: int = 5
    _kept: int = PrivateAttr(default=3)


class InvoiceStrict(BaseModel):
    number: int
    customer: str


class InvoiceNumber(BaseModel):
    number: float
    order: Any = None
    note: str = "none"
    lines: list[str] = Field(default_factory=list)


def test_a_model_whose_class_changed_is_validated() -> None:
    data = serde().encode(Invoice(number=1, lines=["a"]))
    back = Serde([replace(Invoice, InvoiceNumber)]).decode(data)
    assert same(back.number, 1.0) and back.lines == ["a"]


def test_a_model_that_is_not_valid_any_more_says_so() -> None:
    data = serde().encode(Invoice(number=1))
    for cls, why in ((InvoiceStrict, "customer"), (InvoiceText, "valid string")):
        with pytest.raises(SerializationError, match=why) as caught:
            Serde([replace(Invoice, cls)]).decode(data)
        assert "upgrade(Invoice, function)" in str(caught.value) and "\n" not in str(caught.value)


def test_an_upgrade_of_a_model_is_given_its_fields_and_extras() -> None:
    data = serde().encode([Invoice(number=1), Invoice(number=2)])
    codec = Serde()
    strict = replace(Invoice, InvoiceStrict)
    codec.upgrade(strict, lambda stored: strict(number=stored["number"], customer="?"))
    assert codec.decode(data) == [strict(number=number, customer="?") for number in (1, 2)]
    assert codec.decode(codec.encode(strict(number=9, customer="c"))).customer == "c"


class LooseNext(BaseModel):
    a: float
    b: int = 0
    _secret: Any = PrivateAttr(default=1)


def test_private_attributes_survive_validation() -> None:
    loose = Loose(a=1, b=2)
    loose._secret = "kept"
    back = Serde([replace(Loose, LooseNext)]).decode(serde().encode(loose))
    assert (back.a, back.b, back._secret) == (1.0, 2, "kept")


def test_an_upgrade_that_fails_is_an_error_of_the_value() -> None:
    codec = Serde()
    codec.upgrade(replace(Order, OrderNext), lambda stored: OrderNext(**stored))
    with pytest.raises(SerializationError, match=r"TypeError"):
        codec.decode(serde().encode(Order(1)))


def test_only_types_with_a_shape_can_be_upgraded() -> None:
    for cls in (HumanMessage, int):
        with pytest.raises(ConfigurationError, match="no shape"):
            Serde().upgrade(cls, lambda stored: stored)
