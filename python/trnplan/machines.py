"""What ``collective``, ``topology``, ``models`` and ``instances`` answer. docs/json.md explains every key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, List, Optional, Tuple

from .records import Record, Result
from .runs import Price
from .tables import frame

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, repr=False)
class Verdict(Record):
    """Whether the runtime takes a group: ``supported``, ``doubtful`` or ``refused``."""

    verdict: str
    rule: str
    message: str
    evidence: str


@dataclass(frozen=True, repr=False)
class Phase(Record):
    steps: int
    latency_seconds: float
    transfer_seconds: Optional[float]
    limit: str


@dataclass(frozen=True, repr=False)
class Collective(Record):
    """One collective; times are None where its bytes have no way. Rates are 10^9 bytes/s."""

    op: str
    ranks: int
    bytes: int
    algorithm: str
    seconds: Optional[float]
    seconds_90: Tuple[Optional[float], Optional[float]]
    nccom_seconds: Optional[float]
    nccom_seconds_90: Tuple[Optional[float], Optional[float]]
    busbw_gbps: Optional[float]
    algbw_gbps: Optional[float]
    nodes: int
    instance: str
    oversubscription: float
    profile: str
    verdict: Verdict
    alpha_seconds: float
    phases: List[Phase]
    host_launch_seconds: float
    barrier_seconds: float


@dataclass(frozen=True, repr=False)
class CollectiveResult(Result, Collective):
    schema_version: int

    def to_dataframe(self) -> "DataFrame":
        """One row. Needs pandas."""
        return _table([self])


@dataclass(frozen=True, repr=False)
class CollectiveSweep(Result):
    """Sizes of one collective, ascending."""

    schema_version: int
    op: str
    ranks: int
    nodes: int
    instance: str
    oversubscription: float
    profile: str
    verdict: Verdict
    results: List[Collective]

    def to_dataframe(self) -> "DataFrame":
        """A row a size. Needs pandas."""
        return _table(self.results)


_TABLE = ("op", "ranks", "nodes", "bytes", "algorithm", "seconds", "nccom_seconds", "busbw_gbps", "algbw_gbps")


def _table(rows: "List[CollectiveResult] | List[Collective]") -> "DataFrame":
    return frame([{key: getattr(row, key) for key in _TABLE} for row in rows])


@dataclass(frozen=True, repr=False)
class Group(Record):
    kind: str
    ranks: List[int]
    chips: List[int]
    nodes: int
    verdict: str
    rule: str
    message: str
    evidence: str


@dataclass(frozen=True, repr=False)
class Torus(Record):
    rows: int
    columns: int
    depth: int


@dataclass(frozen=True, repr=False)
class Nic(Record):
    nic: int
    chips: List[int]
    cores: int
    bytes_per_second_per_direction: float


@dataclass(frozen=True, repr=False)
class Kind(Record):
    """All groups of a kind by the worst of them."""

    kind: str
    groups: int
    ranks: int
    verdict: str
    rule: str
    rings: List[List[int]]


@dataclass(frozen=True, repr=False)
class TopologyResult(Result):
    """A node's fabric, and the verdict on every group of a layout."""

    schema_version: int
    instance: str
    nodes: int
    groups: List[Group]
    verdict: str
    links: List[List[int]]
    link_bytes_per_second_per_direction: List[float]
    chips: int
    switches: int
    cores_per_chip: int
    torus: Optional[Torus]
    nics: List[Nic]
    rings: List[List[int]]
    kinds: List[Kind]

    def to_dataframe(self) -> "DataFrame":
        """A row a group. Needs pandas."""
        return frame([g.to_dict() for g in self.groups])


@dataclass(frozen=True, repr=False)
class PublishedTraining(Record):
    sequence: int
    global_batch: int
    source: str


@dataclass(frozen=True, repr=False)
class Model(Record):
    name: str
    parameters: float
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    intermediate: int
    vocabulary: int
    max_positions: int
    experts: int
    training: Optional[PublishedTraining]


@dataclass(frozen=True, repr=False)
class ModelsResult(Result):
    schema_version: int
    models: List[Model]

    def to_dataframe(self) -> "DataFrame":
        """A row a model. Needs pandas."""
        return frame([m.to_dict() for m in self.models])


@dataclass(frozen=True, repr=False)
class Instance(Record):
    """An instance type; rates are those of a node."""

    name: str
    chips: int
    cores: int
    memory_bytes_per_core: float
    bf16_flops: float
    hbm_bytes_per_second: float
    nics: int
    nic_bytes_per_second: float
    prices: List[Price]
    ending: str
    step_modelled: bool


@dataclass(frozen=True, repr=False)
class InstancesResult(Result):
    schema_version: int
    instances: List[Instance]

    def to_dataframe(self) -> "DataFrame":
        """A row a type. Needs pandas."""
        return frame([i.to_dict() for i in self.instances])
