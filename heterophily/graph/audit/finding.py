"""What an audit says: findings, the gravest first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["serious", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("serious", "warning", "note")


@dataclass(frozen=True)
class Finding:
    """Something to know about a graph."""

    code: str
    """What kind it is: a name that stays."""
    severity: Severity
    share: float
    """How much is touched, 0 to 1."""
    title: str
    """What was found, with its number."""
    why: str
    """Why it matters."""
    advice: str
    """What to do."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Further numbers, fit for JSON."""


@dataclass(frozen=True)
class Audit:
    """All findings about a graph, the gravest first, and its plain numbers."""

    name: str
    facts: Mapping[str, Any]
    findings: tuple[Finding, ...]

    @property
    def serious(self) -> bool:
        """Whether something serious was found."""
        return any(finding.severity == "serious" for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """Return everything, fit for JSON."""
        found = [vars(finding) | {"facts": dict(finding.facts)} for finding in self.findings]
        return {"name": self.name, "serious": self.serious, "facts": dict(self.facts), "findings": found}


def many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def percent(share: float) -> str:
    return f"{100 * share:.1f} %" if 0 < share < 0.1 or 0.9 < share < 1 else f"{100 * share:.0f} %"


def listed(splits: Iterable[str]) -> str:
    found = list(splits)
    return f"split{'' if len(found) == 1 else 's'} {', '.join(found)}"
