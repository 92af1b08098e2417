"""Configs: frozen dataclasses whose fields carry a meaning and, where tuned, a search range."""

from __future__ import annotations

import ast
import dataclasses
import difflib
import inspect
import textwrap
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, get_args, get_origin

import numpy as np


class ConfigError(ValueError):
    """A setting that does not exist or makes no sense."""


def no_such(
    kind: str,
    name: str,
    known: Iterable[str],
    plural: str = "",
    also: Mapping[str, str] | None = None,
) -> str:
    """Say that a name is not among the known ones: which it may have been meant for, and which there are.

    ``also`` has other spellings, each with the name that is meant by it.

    >>> no_such("study", "partitoin", ["ablation", "partition"], "studies")
    "there is no study 'partitoin'; did you mean 'partition'? The studies are ablation, partition"
    """
    names = list(known)
    spellings = dict(also or {}) | {each: each for each in names}
    near = difflib.get_close_matches(name.strip().lower(), spellings, n=1)
    lead = f"did you mean {spellings[near[0]]!r}? The" if near else "the"
    return f"there is no {kind} {name!r}; {lead} {plural or f'{kind}s'} are {', '.join(names)}"


@dataclass(frozen=True)
class Choice:
    """Search range: one of a few values."""

    options: tuple[Any, ...]

    def __init__(self, *options: Any):
        object.__setattr__(self, "options", options)


@dataclass(frozen=True)
class Uniform:
    """Search range: any real number from ``low`` to ``high``."""

    low: float
    high: float


@dataclass(frozen=True)
class Integer:
    """Search range: any whole number from ``low`` to ``high``, both included."""

    low: int
    high: int


Range = Choice | Uniform | Integer
GREEK = {"lambda": "λ", "lamda": "λ", "beta": "β", "tau": "τ", "kappa": "κ", "rho": "ρ", "l": "l^"}


@dataclass(frozen=True)
class Limit:
    """What a setting must keep to, searched or not."""

    above: float = -1
    below: float = float("inf")


Rate = Annotated[float, Limit(above=0)]
"""A number above 0."""
Share = Annotated[float, Limit(below=1)]
"""A number from 0 to below 1, such as a dropout."""
Count = Annotated[int, Limit(above=0)]
"""A whole number from 1."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """Base of every model's settings: strict about names and types, easy to vary."""

    def __post_init__(self) -> None:
        owner = type(self).__name__
        for name, kind in types(type(self)).items():
            object.__setattr__(self, name, _checked(owner, name, kind, getattr(self, name)))
        for name, limit in _notes(type(self), Limit):
            if not limit.above < (value := getattr(self, name)) < limit.below:
                side = f"above {limit.above:g}" if value <= limit.above else f"below {limit.below:g}"
                raise ConfigError(f"{owner}: {name} must be {side}, not {value}")

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Build a config from names and values; values may be text, as on a command line."""
        known = types(cls)
        for name in values:
            if name not in known:
                raise ConfigError(_unknown(cls, name))
        return cls(**{name: _from_text(cls, name, known[name], v) for name, v in values.items()})

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some settings changed."""
        return type(self).parse({**dataclasses.asdict(self), **changes})

    def to_dict(self) -> dict[str, Any]:
        """Return all settings by name, fit for JSON and TOML."""
        return dataclasses.asdict(self)

    def changes(self) -> dict[str, Any]:
        """Return the settings that differ from the defaults."""
        defaults = type(self)().to_dict()
        return {name: value for name, value in self.to_dict().items() if value != defaults[name]}


def types(config: type[Config]) -> dict[str, Any]:
    """Return the bare type of every field."""
    return {
        name: get_args(hint)[0] if get_origin(hint) is Annotated else hint
        for name, hint in _hints(config).items()
    }


def _hints(config: type[Config]) -> dict[str, Any]:
    if config not in _KNOWN:
        _KNOWN[config] = typing.get_type_hints(config, include_extras=True)
    return _KNOWN[config]


_KNOWN: dict[type[Config], dict[str, Any]] = {}  # finding them out takes milliseconds


def space(config: type[Config]) -> dict[str, Range]:
    """Return the search range of every field that has one."""
    return dict(_notes(config, Range))


def _notes(config: type[Config], kind: Any) -> Iterator[tuple[str, Any]]:
    for name, hint in _hints(config).items():
        for note in hint.__metadata__ if get_origin(hint) is Annotated else ():
            if isinstance(note, kind):
                yield name, note


def meanings(config: type[Config]) -> dict[str, str]:
    """Return what each field means: the sentence written under it in the source."""
    found: dict[str, str] = {}
    for owner in reversed(config.__mro__):
        if not (isinstance(owner, type) and issubclass(owner, Config)):
            continue
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
        assert isinstance(body, ast.ClassDef)
        for field, below in zip(body.body, body.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                    found[field.target.id] = " ".join(str(below.value.value).split())
    return found


def _unknown(config: type[Config], name: str) -> str:
    fields = types(config)
    said = meanings(config)
    symbol = GREEK.get(name.lower(), name)
    hits = [f for f in fields if said.get(f, "").startswith(symbol)] or difflib.get_close_matches(
        name, fields
    )
    hint = "."
    if hits:
        sign = said.get(hits[0], "").split(" ")[0]
        hint = f"; did you mean '{hits[0]}'" + (f" ({sign})?" if not sign.isascii() else "?")
    return f"{config.__name__} has no field '{name}'{hint} Fields: {', '.join(fields) or 'none'}"


def _from_text(config: type[Config], name: str, kind: Any, value: Any) -> Any:
    if not isinstance(value, str) or kind is str:
        return value
    if get_origin(kind) is Literal:
        return next((option for option in get_args(kind) if str(option) == value), value)
    if kind is bool and value.lower() in {"true", "yes", "on", "1", "false", "no", "off", "0"}:
        return value.lower() in {"true", "yes", "on", "1"}
    try:
        if kind in (int, float):
            number = float(value)
            return int(number) if kind is int and number == int(number) else number
    except (ValueError, OverflowError):
        pass
    return value


def _checked(owner: str, name: str, kind: Any, value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if get_origin(kind) is Literal:
        if value in get_args(kind):
            return value
        wanted = "one of " + ", ".join(map(str, get_args(kind)))
    elif kind is bool:
        if isinstance(value, bool):
            return value
        wanted = "true or false"
    elif kind is int:
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        wanted = "a whole number, zero or more"
    elif kind is float:
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf"):
            return float(value)
        wanted = "a number, zero or more"
    else:
        return value
    raise ConfigError(f"{owner}: {name} must be {wanted}, not {value!r}")
