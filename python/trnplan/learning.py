"""What ``calibrate`` and ``validate`` answer. docs/json.md explains every key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, Optional

from .records import Record, Result
from .tables import frame

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, repr=False)
class Estimate(Record):
    """A median with the standard deviation of its logarithm."""

    median: float
    log_sd: float


@dataclass(frozen=True, repr=False)
class Parameter(Record):
    name: str
    unit: str
    prior: Estimate
    fitted: Estimate
    prior_share: float
    verdict: str


@dataclass(frozen=True, repr=False)
class CollectiveRow(Record):
    id: str
    op: str
    ranks: int
    nodes: int
    bytes: float
    algorithm: str
    measured_seconds: float
    predicted_seconds: float
    error: float


@dataclass(frozen=True, repr=False)
class Stack(Record):
    """What every time of a framework and release is multiplied by."""

    framework: str
    release: str
    median: float
    log_sd: float


@dataclass(frozen=True, repr=False)
class KernelRow(Record):
    id: str
    kernel: str
    measured_seconds: float
    predicted_seconds: float
    error: float


@dataclass(frozen=True, repr=False)
class LeftOut(Record):
    id: str
    reason: str
    fix: Optional[str]


@dataclass(frozen=True, repr=False)
class StepSample(Record):
    """What a log shows of a run's steps."""

    file: str
    line: int
    last_line: int
    format: str
    basis: str
    framework: str
    release: str
    seconds: float
    spread_seconds: Optional[float]
    count: int
    left_out: int
    wall_seconds: Optional[float]
    global_batch: Optional[int]
    sequence: Optional[int]
    sequences_per_second: Optional[float]
    tokens_per_second: Optional[float]


@dataclass(frozen=True, repr=False)
class Understood(Record):
    kind: str
    pieces: int


@dataclass(frozen=True, repr=False)
class Skipped(Record):
    line: int
    key: str
    problem: str
    fix: str


@dataclass(frozen=True, repr=False)
class LogFile(Record):
    """What a file was, and what it holds; memory, collectives and graphs are as in docs/json.md."""

    file: str
    understood: List[Understood]
    steps: List[StepSample]
    memory: List[Dict[str, Any]]
    collectives: List[Dict[str, Any]]
    graphs: List[Dict[str, Any]]
    skipped: List[Skipped]


@dataclass(frozen=True, repr=False)
class CalibrateResult(Result):
    """A fit, or what the files say; parts that the kind of fit lacks are None."""

    schema_version: int
    profile: Optional[str]
    prior: Optional[str]
    instance: Optional[str]
    parameters: Optional[List[Parameter]]
    stacks: Optional[List[Stack]]
    configurations: Optional[Dict[str, float]]
    kernels: Optional[List[KernelRow]]
    kernel_effects: Optional[Dict[str, float]]
    rows: Optional[List[CollectiveRow]]
    left_out: Optional[List[LeftOut]]
    summary: Optional[Dict[str, Any]]
    files: List[LogFile]
    steps: List[StepSample]

    refused = False
    """The fit explains too little, so `out` was not written."""

    def to_dataframe(self) -> "DataFrame":
        """The rows beside what was predicted: collectives, else kernels, else steps of the logs. Needs pandas."""
        return frame([row.to_dict() for row in (self.rows or self.kernels or self.steps)])


@dataclass(frozen=True, repr=False)
class ValidateResult(Result):
    schema_version: int


@dataclass(frozen=True, repr=False)
class StepRow(Record):
    id: str
    run_group: str
    quality: str
    kind: str
    model: str
    configuration: str
    framework: str
    release: str
    outlier: bool
    bound: bool
    measured_step_seconds: float
    predicted_step_seconds: float
    step_seconds_90: List[float]
    error: float
    covered: bool
    constant_mfu_step_seconds: Optional[float]
    oracle_step_seconds: Optional[float]


@dataclass(frozen=True, repr=False)
class StepValidation(ValidateResult):
    """Published runs beside predictions by fits that have not seen them."""

    profile: str
    leave_out: str
    rows: List[StepRow]
    excluded: List[LeftOut]
    summary: Dict[str, Any]

    def to_dataframe(self) -> "DataFrame":
        """A row a run. Needs pandas."""
        return frame([row.to_dict() for row in self.rows])


@dataclass(frozen=True, repr=False)
class ScoredRow(Record):
    id: str
    group: str
    source: str
    quality: str
    out_of_memory: bool
    measured_step_seconds: Optional[float]
    predicted_step_seconds: Optional[float]
    step_seconds_90: List[float]
    error: Optional[float]
    measured_memory_bytes: Optional[float]
    predicted_memory_bytes: Optional[float]
    fits: Optional[bool]
    fit_probability: Optional[float]
    skipped: Optional[str]


@dataclass(frozen=True, repr=False)
class ScoredGroup(Record):
    group: str
    source: str
    layouts: int
    predicted: int
    picked: str
    best: str
    regret: Optional[float]
    random: Optional[float]
    rank_correlation: Optional[float]


@dataclass(frozen=True, repr=False)
class ScoreResult(ValidateResult):
    """Every row of a table as it would be simulated, without a fit."""

    profiles: List[str]
    rows: List[ScoredRow]
    skipped: Dict[str, int]
    groups: List[ScoredGroup]
    summary: Dict[str, Any]

    def to_dataframe(self) -> "DataFrame":
        """A row a layout. Needs pandas."""
        return frame([row.to_dict() for row in self.rows])


@dataclass(frozen=True, repr=False)
class MemoryCase(Record):
    """A published job and whether it fits; bytes are those of a core."""

    id: str
    kind: str
    source: str
    model: str
    instance: str
    known: str
    rows: int
    layers: int
    nodes: int
    sequence: int
    tensor_parallel: int
    pipeline_parallel: int
    context_parallel: int
    data_parallel: int
    recompute: str
    precision: str
    zero1: bool
    peak: int
    limit: int
    margin: int
    fit_probability: float
    right: bool
    note: str


@dataclass(frozen=True, repr=False)
class LeftOutCase(Record):
    id: str
    kind: str
    source: str
    model: str
    instance: str
    known: str
    reason: str


@dataclass(frozen=True, repr=False)
class SourceScore(Record):
    source: str
    layouts: int
    log_score: float
    log_score_left_out: float


@dataclass(frozen=True, repr=False)
class MemoryValidation(ValidateResult):
    """Published jobs and whether they are predicted to fit."""

    profile: str
    cases: List[MemoryCase]
    left_out: List[LeftOutCase]
    rows: int
    wrong: int
    log_score: float
    log_score_left_out: float
    mean_fit_probability: float
    least_fit_probability: float
    sources: List[SourceScore]
    learned: Dict[str, Estimate]

    def to_dataframe(self) -> "DataFrame":
        """A row a case. Needs pandas."""
        return frame([row.to_dict() for row in self.cases])


@dataclass(frozen=True, repr=False)
class CollectiveTable(Record):
    op: str
    ranks: int
    nodes: int
    build: str
    points: int
    fitted_points: int
    median_ape: float
    log_bias: float
    covered: int
    median_log_half_width_90: float


@dataclass(frozen=True, repr=False)
class CollectiveValidation(ValidateResult):
    """Tables of nccom-test, each predicted without having seen it."""

    profile: str
    tables: List[CollectiveTable]
    points: int
    covered: int

    def to_dataframe(self) -> "DataFrame":
        """A row a table. Needs pandas."""
        return frame([row.to_dict() for row in self.tables])


@dataclass(frozen=True, repr=False)
class Uptime(Record):
    id: str
    nodes: int
    recovery: str
    published_uptime: float
    predicted_uptime: float
    uptime_90: List[float]
    predicted_goodput: float
    goodput_90: List[float]
    step_seconds: float
    checkpoint_bytes: float
    checkpoint_interval_seconds: float
    mtbf_seconds: float
    recovery_seconds: float
    implied_failures_per_node_day: Optional[float]
    source: str


@dataclass(frozen=True, repr=False)
class GoodputValidation(ValidateResult):
    """Published uptimes beside predicted ones."""

    reliability: str
    profile: str
    rows: List[Uptime]

    def to_dataframe(self) -> "DataFrame":
        """A row an uptime. Needs pandas."""
        return frame([row.to_dict() for row in self.rows])
