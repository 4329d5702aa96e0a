"""Results of the functions, with the names of docs/python.md. docs/keys.md explains every key; units are seconds, bytes, USD.

The program describes the keys of each class under its name; this file contains the methods. Types are in results.pyi,
which tests/generated/generated.py writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple  # noqa: F401  # of the described keys

from .records import Record, Result, described, others
from .tables import frame

if TYPE_CHECKING:
    from pandas import DataFrame


@described
class Strategy(Record):
    def __str__(self) -> str:
        """``tp=8 pp=4 dp=1 mbs=1 recompute=full``: degrees other than one, and settings that are always shown."""
        degrees = {"tp": self.tensor_parallel, "pp": self.pipeline_parallel, "vpp": self.virtual_pipeline,
                   "cp": self.context_parallel, "ep": self.expert_parallel, "dp": self.data_parallel}  # fmt: skip
        said = [f"{name}={n}" for name, n in degrees.items() if n > 1 or name in ("tp", "pp", "dp")]
        cuts = [f"cuts={'/'.join(map(str, self.pipeline_cuts))}"] if self.pipeline_cuts else []
        return " ".join([*said, f"mbs={self.micro_batch}", f"recompute={self.recompute}", *cuts])


@described
class Plan(Record):
    def row(self) -> Dict[str, Any]:
        """Row of a table: strategy, seconds, bytes, USD."""
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


@described
class RankedPlan(Plan):
    def row(self) -> Dict[str, Any]:
        return {"rank": self.rank, **super().row(), "works_probability": self.works_probability}


@described
class PlanResult(Result):
    @property
    def best(self) -> Optional[RankedPlan]:
        """The recommended plan; None if nothing fits."""
        return None if self.recommended is None else self.plans[self.recommended]

    def to_dataframe(self) -> "DataFrame":
        """One row per plan. Needs pandas."""
        return frame([{**p.row(), "recommended": p is self.best} for p in self.plans])


@dataclass(frozen=True, repr=False)
class SimulateResult(Result):
    """One strategy: ``plan`` is None if it has no program; ``violations`` lists the rules that it breaks."""

    schema_version: int
    violations: Optional[List[Violation]]  # noqa: F821
    plan: Optional[Plan]

    @property
    def refused(self) -> bool:
        """True if a rule is broken without doubt."""
        return any(not v.doubtful for v in self.violations or ())

    def to_dataframe(self) -> "DataFrame":
        """One row, or none. Needs pandas."""
        return frame([self.plan.row()] if self.plan else [])


@described
class CheckResult(Result):
    _rows = "findings"


@described
class WhatIfResult(Result):
    @property
    def best(self) -> Optional[WhatIfPoint]:  # noqa: F821
        """The recommended cluster; None if none keeps the limits."""
        return self.points[self.recommended] if self.recommended >= 0 else None

    def to_dataframe(self) -> "DataFrame":
        """One row per cluster. Needs pandas."""
        return frame([{**p.to_dict(), "recommended": p is self.best} for p in self.points])


@described
class OfferingsResult(Result):
    _rows = "buy"


@described
class CompareResult(Result):
    _rows = "by_operator"


_TABLE = ("op", "ranks", "nodes", "bytes", "algorithm", "seconds", "nccom_seconds", "busbw_gbps", "algbw_gbps")


def _table(rows: "List[Any]") -> "DataFrame":
    return frame([{key: getattr(row, key) for key in _TABLE} for row in rows])


@described
class Collective(Record):
    pass


@dataclass(frozen=True, repr=False)
class CollectiveResult(Result, Collective):
    """One size of a collective."""

    schema_version: int

    def to_dataframe(self) -> "DataFrame":
        """One row. Needs pandas."""
        return _table([self])


@described
class CollectiveSweep(Result):
    def to_dataframe(self) -> "DataFrame":
        """One row per size. Needs pandas."""
        return _table(self.results)


@described
class TopologyResult(Result):
    _rows = "groups"


@described
class ModelsResult(Result):
    _rows = "models"


@described
class InstancesResult(Result):
    _rows = "instances"


@described
class ExplainResult(Result):
    _rows = "rules"


@described
class SupportResult(Result):
    _rows = "pairs"


@described
class CalibrateResult(Result):
    refused = False
    """True if the fit explains too little, so that `out` was not written."""

    def to_dataframe(self) -> "DataFrame":
        """Rows with their predictions: collectives, else kernels, else steps of the logs. Needs pandas."""
        return frame([row.to_dict() for row in (self.rows or self.kernels or self.steps)])


@dataclass(frozen=True, repr=False)
class ValidateResult(Result):
    """Predictions compared with published data."""

    schema_version: int


@described
class StepValidation(ValidateResult):
    _rows = "rows"


@described
class ScoreResult(ValidateResult):
    _rows = "rows"


@described
class MemoryValidation(ValidateResult):
    _rows = "cases"


@described
class CollectiveValidation(ValidateResult):
    _rows = "tables"


@described
class GoodputValidation(ValidateResult):
    _rows = "rows"


globals().update(others(globals()))
