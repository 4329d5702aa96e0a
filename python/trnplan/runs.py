"""What ``whatif`` answers: clusters compared for a whole run. docs/json.md explains every key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, List, Optional, Tuple

from .plans import Strategy
from .records import Record, Result
from .tables import frame

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, repr=False)
class WhatIfPoint(Record):
    """A cluster. Where nothing is legal and fits, the predictions are None and ``why`` says what is wrong."""

    instance: str
    nodes: int
    global_batch: int
    strategy: Optional[Strategy]
    step_seconds: Optional[float]
    step_seconds_90: Optional[Tuple[float, float]]
    tokens_per_second: Optional[float]
    mfu: Optional[float]
    goodput: Optional[float]
    goodput_90: Optional[Tuple[float, float]]
    uptime: Optional[float]
    days: Optional[float]
    days_90: Optional[Tuple[float, float]]
    usd: Optional[float]
    usd_per_1e9_tokens: Optional[float]
    checkpoint_interval_seconds: Optional[float]
    checkpoint_interval_steps: Optional[int]
    checkpoint_bytes: Optional[float]
    checkpoint_stall_seconds: Optional[float]
    mtbf_seconds: Optional[float]
    recovery_seconds: Optional[float]
    usd_per_hour: Optional[float]
    efficiency: Optional[float]
    works_probability: Optional[float]
    deadline_probability: Optional[float]
    budget_probability: Optional[float]
    tokens_50: Optional[float]
    tokens_90: Optional[float]
    days_at_90: Optional[float]
    usd_at_90: Optional[float]
    target: Optional[str]
    pareto: bool
    why: str
    fix: str
    remark: str


@dataclass(frozen=True, repr=False)
class Price(Record):
    """USD of a node and hour."""

    kind: str
    usd_per_hour: float
    region: str
    date: str
    terms: Optional[str]
    source: Optional[str]


@dataclass(frozen=True, repr=False)
class InstanceStanding(Record):
    """An instance type against the others; ``point`` is the index of the cluster that stands for it."""

    instance: str
    point: int
    price: Optional[Price]
    other_prices: Tuple[Price, ...]
    cheapest_probability: Optional[float]
    break_even_usd_per_hour: Optional[float]
    break_even_against: Optional[str]


@dataclass(frozen=True, repr=False)
class BillLine(Record):
    what: str
    usd_per_hour: float
    basis: str


@dataclass(frozen=True, repr=False)
class WhatIfResult(Result):
    """Clusters for a whole run: ``points``, and ``best``, the one to take."""

    schema_version: int
    model: str
    tokens: Optional[float]
    asked: str
    scaling: str
    recovery: str
    asynchronous_checkpoints: bool
    pricing: str
    reliability: str
    deadline_days: Optional[float]
    budget_usd: Optional[float]
    points: List[WhatIfPoint]
    recommended: int
    reason: str
    because: str
    instances: List[InstanceStanding]
    surer: int
    would_do: Optional[WhatIfPoint]
    reaches: Optional[WhatIfPoint]
    bill: List[BillLine]
    not_covered: List[str]

    @property
    def best(self) -> Optional[WhatIfPoint]:
        """The recommended cluster; None where none keeps the limits."""
        return self.points[self.recommended] if self.recommended >= 0 else None

    def to_dataframe(self) -> "DataFrame":
        """A row a cluster. Needs pandas."""
        return frame([{**p.to_dict(), "recommended": p is self.best} for p in self.points])
