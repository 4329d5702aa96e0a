"""What ``plan``, ``simulate`` and ``check`` answer. docs/json.md explains every key; seconds, bytes and USD are plain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, List, Optional, Tuple

from .plans import Breakdown, ClusterPlan, Memory, Plan, RankedPlan, Strategy, Violation
from .records import Record, Result
from .tables import frame

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, repr=False)
class Space(Record):
    """How many strategies there were; ``seconds`` is the wall time of the search."""

    enumerated: int
    refused: int
    too_large: int
    bounded: int
    simulated: int
    inexpressible: int
    seconds: float


@dataclass(frozen=True, repr=False)
class Refusal(Record):
    """A tempting strategy that was refused; no time of it is below ``step_seconds_bound``."""

    strategy: Strategy
    rule: str
    message: str
    fix: str
    step_seconds_bound: float
    memory_bytes_per_core: Optional[Memory]
    chips: Optional[List[int]]


@dataclass(frozen=True, repr=False)
class Reasons(Record):
    binds: str
    elasticity: float
    step_seconds_with_faster_kernels: float
    step_seconds_with_twice_the_nics: Optional[float]
    with_one_more_gibibyte: Optional[Plan]


@dataclass(frozen=True, repr=False)
class TableRequest(Record):
    operation: str
    ranks: int
    nodes: int
    smallest_bytes: int
    largest_bytes: int
    command: str


@dataclass(frozen=True, repr=False)
class Decision(Record):
    measured: str
    is_: str
    value: float


@dataclass(frozen=True, repr=False)
class Measurement(Record):
    """What to measure to tell two plans apart."""

    kind: str
    probability_after: float
    expected_gain: float
    expected_gain_usd: Optional[float]
    expected_gain_node_hours: float
    node_hours: float
    usd: Optional[float]
    tables: Optional[List[TableRequest]]
    runs_of_first: Optional[int]
    runs_of_second: Optional[int]
    steps_of_a_run: Optional[int]
    second_is_better_when: Optional[Decision]


@dataclass(frozen=True, repr=False)
class Comparison(Record):
    """The recommended plan and its rival, by their ranks."""

    first: int
    second: int
    probability_first_is_better: float
    sure: float
    told_apart: bool
    equal: bool
    measurement: Optional[Measurement]
    measurement_decides: bool
    measurement_pays: bool
    considered: List[Measurement]


@dataclass(frozen=True, repr=False)
class Change(Record):
    """A key of a config, what stands there and what is to."""

    key: str
    from_: str
    to: str
    line: int
    column: Optional[int]


@dataclass(frozen=True, repr=False)
class Baseline(Record):
    """What runs today, beside the plan."""

    strategy: Strategy
    violations: List[Violation]
    runs: bool
    prediction: Optional[Plan]
    speedup: Optional[float]
    seconds_saved: Optional[Breakdown]
    changes: List[Change]
    remarks: List[str]
    probability_winner_is_faster: Optional[float]


@dataclass(frozen=True, repr=False)
class RunForecast(Record):
    """The whole run with failures and checkpoints."""

    asked: str
    tokens: Optional[float]
    deadline_days: Optional[float]
    budget_usd: Optional[float]
    goodput: float
    days: float
    days_90: Tuple[float, float]
    usd: Optional[float]
    works_probability: float
    deadline_probability: float
    budget_probability: float
    tokens_50: Optional[float]
    tokens_90: Optional[float]
    days_at_90: Optional[float]
    usd_at_90: Optional[float]


@dataclass(frozen=True, repr=False)
class RuleCount(Record):
    rule: str
    strategies: int
    message: str
    fix: str


@dataclass(frozen=True, repr=False)
class Infeasible(Record):
    """Why nothing was found, and what would help."""

    nodes_that_would_do: int
    nearest_global_batch: int
    rules: List[RuleCount]
    closest: Optional[Strategy]
    memory_bytes_per_core: Optional[Memory]
    fastest: Optional[Plan]
    cheapest: Optional[Plan]


@dataclass(frozen=True, repr=False)
class PlanResult(Result):
    """What ``plan`` found: ``plans``, the fastest first, and ``best``, the one to take."""

    schema_version: int
    space: Space
    proven: bool
    gap: Optional[float]
    cut_short: Optional[List[str]]
    plans: List[RankedPlan]
    recommended: Optional[int]
    layouts: List[Plan]
    reasons: Optional[Reasons]
    clusters: List[ClusterPlan]
    comparison: Optional[Comparison]
    baseline: Optional[Baseline]
    run: Optional[RunForecast]
    doubtful: List[Refusal]
    refused: List[Refusal]
    infeasible: Optional[Infeasible]

    @property
    def best(self) -> Optional[RankedPlan]:
        """The recommended plan; None where nothing fits."""
        return None if self.recommended is None else self.plans[self.recommended]

    def to_dataframe(self) -> "DataFrame":
        """A row a plan. Needs pandas."""
        return frame([{**p.row(), "recommended": p is self.best} for p in self.plans])


@dataclass(frozen=True, repr=False)
class SimulateResult(Result):
    """One strategy: ``plan`` is None where it has no program; ``violations`` says which rules it breaks."""

    schema_version: int
    violations: Optional[List[Violation]]
    plan: Optional[Plan]

    @property
    def refused(self) -> bool:
        """Some rule is broken for certain."""
        return any(not v.doubtful for v in self.violations or ())

    def to_dataframe(self) -> "DataFrame":
        """One row, or none. Needs pandas."""
        return frame([self.plan.row()] if self.plan else [])


@dataclass(frozen=True, repr=False)
class Finding(Record):
    """What the linter says of a config; ``line`` and ``column`` are 0 without a place."""

    rule: str
    severity: str
    key: str
    line: int
    column: int
    message: str
    fix: str
    source: str


@dataclass(frozen=True, repr=False)
class NearConfig(Record):
    """A config near to a refused one that is accepted and fits."""

    keys: int
    changes: List[Change]
    diff: str
    warnings: List[str]
    fit_probability: float
    works_probability: Optional[float]
    plan: Plan


@dataclass(frozen=True, repr=False)
class CheckResult(Result):
    """The verdict on a config: ``ok``, ``warn`` or ``refused``."""

    schema_version: int
    verdict: str
    findings: List[Finding]
    prediction: Optional[Plan]
    no_prediction: Optional[str]
    nearest: List[NearConfig]

    def to_dataframe(self) -> "DataFrame":
        """A row a finding. Needs pandas."""
        return frame([f.to_dict() for f in self.findings])
