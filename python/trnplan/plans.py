"""Strategies and what is predicted of them. docs/json.md explains every key; seconds, bytes and USD are plain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from .records import Record


@dataclass(frozen=True, repr=False)
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
        cuts = [f"cuts={'/'.join(map(str, self.pipeline_cuts))}"] if self.pipeline_cuts else []
        return " ".join([*said, f"mbs={self.micro_batch}", f"recompute={self.recompute}", *cuts])


@dataclass(frozen=True, repr=False)
class Moment(Record):
    """What an instant adds to parameters, gradients, optimizer and runtime of a core, bytes."""

    instant: str
    activations: int
    logits: int
    staging: int


@dataclass(frozen=True, repr=False)
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


@dataclass(frozen=True, repr=False)
class StageMemory(Memory):
    layers: int
    in_flight: int
    moments: List[Moment]


@dataclass(frozen=True, repr=False)
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


@dataclass(frozen=True, repr=False)
class Violation(Record):
    """A rule that a strategy breaks."""

    rule: str
    message: str
    fix: str
    doubtful: bool


@dataclass(frozen=True, repr=False)
class KnownGraph(Record):
    id: str
    instructions: int


@dataclass(frozen=True, repr=False)
class KnownCase(Record):
    """The published job nearest to a plan of which is known whether it fits."""

    id: str
    source: str
    job: str
    known: str
    distance: float
    differences: Any
    largest_known_graph: KnownGraph


@dataclass(frozen=True, repr=False)
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
    usd_per_hour: Optional[float]
    doubts: List[Violation]
    schedule: Optional[str]
    step_extrapolated: Optional[bool]
    nearest_memory_case: Optional[KnownCase]
    fit_probability_at_distance: Optional[float]
    compile_probability_at_distance: Optional[float]
    works_probability: Optional[float]
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


@dataclass(frozen=True, repr=False)
class RankedPlan(Plan):
    """A plan of the ranking, with how near it is to what is known to run."""

    rank: int
    distance: Optional[float]
    nearest_run: Optional[str]
    untested: Optional[List[str]]
    differs_from_nearest: Any
    run_probability: Optional[float]
    expected_tokens_per_second: Optional[float]
    near_twin_of: Optional[int]
    probability_first_is_better: Optional[float]

    def row(self) -> Dict[str, Any]:
        return {"rank": self.rank, **super().row(), "works_probability": self.works_probability}


@dataclass(frozen=True, repr=False)
class ClusterPlan(Plan):
    on_front: bool
