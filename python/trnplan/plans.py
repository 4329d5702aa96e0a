"""What ``plan``, ``simulate`` and ``check`` answer. docs/json.md explains every key; seconds, bytes and USD are plain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

from .records import Record, Result
from .tables import frame

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class Strategy(Record):
    """How a job is laid out over the cores. ``simulate`` takes it."""

    tensor_parallel: int
    pipeline_parallel: int
    virtual_pipeline: int
    context_parallel: int
    expert_parallel: int
    data_parallel: int
    micro_batch: int
    micro_batches: int
    sequence_parallel: bool
    zero1: bool
    recompute: str
    flash_attention: bool
    kv_replicator: int
    precision: str
    pipeline_cuts: List[int]
    bucket_mb: int
    schedule: str
    sharding: str
    shard_degree: int
    framework: str
    nodes: int
    instance: str

    def __str__(self) -> str:
        """``tp=8 pp=4 dp=1 mbs=1 recompute=full``: what differs from one, and what is always worth saying."""
        degrees = {"tp": self.tensor_parallel, "pp": self.pipeline_parallel, "vpp": self.virtual_pipeline,
                   "cp": self.context_parallel, "ep": self.expert_parallel, "dp": self.data_parallel}  # fmt: skip
        said = [f"{name}={n}" for name, n in degrees.items() if n > 1 or name in ("tp", "pp", "dp")]
        return " ".join([*said, f"mbs={self.micro_batch}", f"recompute={self.recompute}"])


@dataclass(frozen=True)
class Moment(Record):
    """What an instant adds to parameters, gradients, optimizer and runtime of a core, bytes."""

    instant: str
    activations: int
    logits: int
    staging: int


@dataclass(frozen=True)
class Memory(Record):
    """Bytes of a core at its peak; the parts add up to ``peak``."""

    peak: int
    limit: int
    parameters: int
    gradients: int
    optimizer: int
    activations: int
    logits: int
    staging: int
    runtime: int
    stage: int
    instant: str
    fit_probability: Optional[float]


@dataclass(frozen=True)
class StageMemory(Memory):
    layers: int
    in_flight: int
    moments: List[Moment]


@dataclass(frozen=True)
class Breakdown(Record):
    """Seconds along the critical path; they add up to the step."""

    compute: float
    tensor_parallel: float
    context_parallel: float
    expert_parallel: float
    pipeline: float
    bubble: float
    data_parallel: float
    optimizer: float
    overhead: float


@dataclass(frozen=True)
class Violation(Record):
    """A rule that a strategy breaks."""

    rule: str
    message: str
    fix: str
    doubtful: bool


@dataclass(frozen=True)
class KnownGraph(Record):
    id: str
    instructions: int


@dataclass(frozen=True)
class KnownCase(Record):
    """The published job nearest to a plan of which is known whether it fits."""

    id: str
    source: str
    job: str
    known: str
    distance: float
    differences: Any
    largest_known_graph: KnownGraph


@dataclass(frozen=True)
class Plan(Record):
    """A strategy with what is predicted of it."""

    strategy: Strategy
    global_batch: int
    step_seconds: float
    step_seconds_90: Tuple[float, float]
    tokens_per_second: float
    mfu: float
    hfu: float
    model_tflops: float
    six_n_tflops: float
    memory_bytes_per_core: Memory
    memory_by_stage: List[StageMemory]
    compile_probability: float
    instructions_per_graph: int
    breakdown_seconds: Breakdown
    seconds_by_parameter: Dict[str, float]
    seconds_by_operator: Dict[str, float]
    elasticities: Dict[str, float]
    usd_per_hour: float
    doubts: List[Violation]
    schedule: Optional[str]
    step_extrapolated: Optional[bool]
    nearest_memory_case: Optional[KnownCase]
    run_days: Optional[float]
    run_usd: Optional[float]

    def row(self) -> Dict[str, Any]:
        """A row of tables: strategy, seconds, bytes, USD."""
        s = self.strategy
        return {
            "instance": s.instance,
            "nodes": s.nodes,
            "tp": s.tensor_parallel,
            "pp": s.pipeline_parallel,
            "vpp": s.virtual_pipeline,
            "cp": s.context_parallel,
            "ep": s.expert_parallel,
            "dp": s.data_parallel,
            "micro_batch": s.micro_batch,
            "global_batch": self.global_batch,
            "recompute": s.recompute,
            "sharding": s.sharding,
            "schedule": s.schedule,
            "step_seconds": self.step_seconds,
            "step_seconds_low": self.step_seconds_90[0],
            "step_seconds_high": self.step_seconds_90[1],
            "tokens_per_second": self.tokens_per_second,
            "mfu": self.mfu,
            "peak_bytes": self.memory_bytes_per_core.peak,
            "fit_probability": self.memory_bytes_per_core.fit_probability,
            "usd_per_hour": self.usd_per_hour,
            "run_days": self.run_days,
            "run_usd": self.run_usd,
        }


@dataclass(frozen=True)
class RankedPlan(Plan):
    """A plan of the ranking, with how near it is to what is known to run."""

    rank: int
    distance: Optional[float]
    nearest_run: Optional[str]
    untested: Optional[List[str]]
    differs_from_nearest: Any
    fit_probability_at_distance: Optional[float]
    compile_probability_at_distance: Optional[float]
    run_probability: Optional[float]
    works_probability: Optional[float]
    expected_tokens_per_second: Optional[float]
    near_twin_of: Optional[int]
    probability_first_is_better: Optional[float]

    def row(self) -> Dict[str, Any]:
        return {"rank": self.rank, **super().row(), "works_probability": self.works_probability}


@dataclass(frozen=True)
class ClusterPlan(Plan):
    on_front: bool


@dataclass(frozen=True)
class Space(Record):
    """How many strategies there were; ``seconds`` is the wall time of the search."""

    enumerated: int
    refused: int
    too_large: int
    bounded: int
    simulated: int
    inexpressible: int
    seconds: float


@dataclass(frozen=True)
class Refusal(Record):
    """A tempting strategy that was refused; no time of it is below ``step_seconds_bound``."""

    strategy: Strategy
    rule: str
    message: str
    fix: str
    step_seconds_bound: float
    memory_bytes_per_core: Optional[Memory]
    chips: Optional[List[int]]


@dataclass(frozen=True)
class Reasons(Record):
    binds: str
    elasticity: float
    step_seconds_with_faster_kernels: float
    step_seconds_with_twice_the_nics: Optional[float]
    with_one_more_gibibyte: Optional[Plan]


@dataclass(frozen=True)
class TableRequest(Record):
    operation: str
    ranks: int
    nodes: int
    smallest_bytes: int
    largest_bytes: int
    command: str


@dataclass(frozen=True)
class Decision(Record):
    measured: str
    is_: str
    value: float


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Change(Record):
    """A key of a config, what stands there and what is to."""

    key: str
    from_: str
    to: str
    line: int
    column: Optional[int]


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class RuleCount(Record):
    rule: str
    strategies: int
    message: str
    fix: str


@dataclass(frozen=True)
class Infeasible(Record):
    """Why nothing was found, and what would help."""

    nodes_that_would_do: int
    nearest_global_batch: int
    rules: List[RuleCount]
    closest: Optional[Strategy]
    memory_bytes_per_core: Optional[Memory]
    fastest: Optional[Plan]
    cheapest: Optional[Plan]


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class NearConfig(Record):
    """A config near to a refused one that is accepted and fits."""

    keys: int
    changes: List[Change]
    diff: str
    warnings: List[str]
    fit_probability: float
    works_probability: Optional[float]
    plan: Plan


@dataclass(frozen=True)
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
