"""Types of results.py, written by tests/generated/generated.py --update."""

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from pandas import DataFrame

from .records import Record, Result

@dataclass(frozen=True, repr=False)
class Strategy(Record):
    tensor_parallel: int
    pipeline_parallel: int
    virtual_pipeline: int
    context_parallel: int
    expert_parallel: int
    expert_tensor_parallel: int
    data_parallel: int
    micro_batch: int
    micro_batches: int
    sequence_parallel: bool
    zero1: bool
    sharding: str
    shard_degree: int
    flash_attention: bool
    kv_replicator: int
    bucket_mb: int
    recompute: str
    precision: str
    schedule: str
    framework: str
    pipeline_cuts: List[int]
    nodes: int
    instance: str
    changed_hardware: Optional[List[str]]
    def __str__(self) -> str: ...

@dataclass(frozen=True, repr=False)
class Plan(Record):
    strategy: Strategy
    global_batch: int
    step_seconds: float
    step_seconds_90: Tuple[float, float]
    slow_network: Optional[SlowNetwork]
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
    network: Optional[MeasuredAllReduce]
    schedule: Optional[str]
    step_extrapolated: Optional[bool]
    nearest_memory_case: Optional[KnownCase]
    fit_probability_at_distance: Optional[float]
    compile_probability_at_distance: Optional[float]
    works_probability: Optional[float]
    compared_runs: Optional[int]
    run_days: Optional[float]
    run_usd: Optional[float]
    def row(self) -> Dict[str, Any]: ...

@dataclass(frozen=True, repr=False)
class RankedPlan(Plan):
    rank: int
    distance: Optional[float]
    nearest_run: Optional[str]
    untested: Optional[List[str]]
    differs_from_nearest: Optional[List[str]]
    fit_probability_at_distance: Optional[float]
    compile_probability_at_distance: Optional[float]
    run_probability: Optional[float]
    works_probability: Optional[float]
    expected_tokens_per_second: Optional[float]
    near_twin_of: Optional[int]
    probability_first_is_better: Optional[float]
    def row(self) -> Dict[str, Any]: ...

@dataclass(frozen=True, repr=False)
class PlanResult(Result):
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
    def best(self) -> Optional[RankedPlan]: ...
    def to_dataframe(self) -> DataFrame: ...

@dataclass(frozen=True, repr=False)
class SimulateResult(Result):
    schema_version: int
    violations: Optional[List[Violation]]
    plan: Optional[Plan]
    @property
    def refused(self) -> bool: ...
    def to_dataframe(self) -> DataFrame: ...

@dataclass(frozen=True, repr=False)
class CheckResult(Result):
    schema_version: int
    verdict: str
    findings: List[Finding]
    prediction: Optional[Plan]
    no_prediction: Optional[str]
    nearest: List[NearConfig]

@dataclass(frozen=True, repr=False)
class WhatIfResult(Result):
    schema_version: int
    model: str
    tokens: Optional[float]
    asked: str
    scaling: str
    scenario: Optional[str]
    recovery: str
    asynchronous_checkpoints: bool
    pricing: str
    reliability: str
    deadline_days: Optional[float]
    budget_usd: Optional[float]
    confidence: Optional[float]
    solved_for_nodes: bool
    points: List[WhatIfPoint]
    recommended: int
    reason: str
    because: str
    instances: List[InstanceStanding]
    surer: int
    would_do: Optional[WhatIfPoint]
    reaches: Optional[WhatIfPoint]
    likeliest: int
    helps: List[WhatHelps]
    bill: List[BillLine]
    not_covered: List[str]
    @property
    def best(self) -> Optional[WhatIfPoint]: ...
    def to_dataframe(self) -> DataFrame: ...

@dataclass(frozen=True, repr=False)
class OfferingsResult(Result):
    schema_version: int
    model: str
    tokens: float
    confidence: float
    reliability: str
    offers: int
    usable: int
    recommended: bool
    buy: List[Offer]
    usd: float
    usd_bound: float
    proven: bool
    tokens_surely: float
    done_probability: float
    done_50: Optional[str]
    done_surely: Optional[str]
    clusters: List[OfferedCluster]

@dataclass(frozen=True, repr=False)
class CompareResult(Result):
    schema_version: int
    sides: List[ComparedPlan]
    differs: List[KeyDifference]
    times_as_long: float
    times_as_long_90: Tuple[float, float]
    probability_first_is_faster: float
    shared: bool
    usd_per_1e9_tokens: List[Optional[float]]
    by_cause: List[PartSeconds]
    by_operator: List[PartSeconds]

@dataclass(frozen=True, repr=False)
class Collective(Record):
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
    changed_hardware: Optional[List[str]]
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
    def to_dataframe(self) -> DataFrame: ...

@dataclass(frozen=True, repr=False)
class CollectiveSweep(Result):
    schema_version: int
    op: str
    ranks: int
    nodes: int
    instance: str
    changed_hardware: Optional[List[str]]
    oversubscription: float
    profile: str
    verdict: Verdict
    results: List[Collective]
    def to_dataframe(self) -> DataFrame: ...

@dataclass(frozen=True, repr=False)
class TopologyResult(Result):
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

@dataclass(frozen=True, repr=False)
class ModelsResult(Result):
    schema_version: int
    models: List[Model]

@dataclass(frozen=True, repr=False)
class InstancesResult(Result):
    schema_version: int
    instances: List[Instance]

@dataclass(frozen=True, repr=False)
class ExplainResult(Result):
    schema_version: int
    rules: List[Rule]

@dataclass(frozen=True, repr=False)
class SupportResult(Result):
    schema_version: int
    pairs: List[Support]

@dataclass(frozen=True, repr=False)
class CalibrateResult(Result):
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
    machine: Optional[List[MachineParameter]]
    shapes: Optional[List[TimedShape]]
    change: Optional[MachineChange]
    files: List[LogFile]
    steps: List[StepSample]
    refused: bool
    def to_dataframe(self) -> DataFrame: ...

@dataclass(frozen=True, repr=False)
class ValidateResult(Result):
    schema_version: int

@dataclass(frozen=True, repr=False)
class StepValidation(ValidateResult):
    profile: str
    leave_out: str
    rows: List[StepRow]
    excluded: List[LeftOut]
    summary: Dict[str, Any]

@dataclass(frozen=True, repr=False)
class ScoreResult(ValidateResult):
    profiles: List[str]
    rows: List[ScoredRow]
    skipped: Dict[str, int]
    groups: List[ScoredGroup]
    summary: Dict[str, Any]

@dataclass(frozen=True, repr=False)
class MemoryValidation(ValidateResult):
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

@dataclass(frozen=True, repr=False)
class CollectiveValidation(ValidateResult):
    profile: str
    tables: List[CollectiveTable]
    points: int
    covered: int

@dataclass(frozen=True, repr=False)
class GoodputValidation(ValidateResult):
    reliability: str
    profile: str
    rows: List[Uptime]

@dataclass(frozen=True, repr=False)
class SpaceCounts(Record):
    enumerated: int
    refused: int
    too_large: int
    bounded: int
    simulated: int
    inexpressible: int

@dataclass(frozen=True, repr=False)
class Space(SpaceCounts):
    seconds: float

@dataclass(frozen=True, repr=False)
class SlowNetwork(Record):
    probability: float
    step_seconds: float

@dataclass(frozen=True, repr=False)
class Memory(Record):
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
class Moment(Record):
    instant: str
    activations: int
    logits: int
    staging: int

@dataclass(frozen=True, repr=False)
class StageMemory(Memory):
    layers: int
    in_flight: int
    moments: List[Moment]

@dataclass(frozen=True, repr=False)
class Breakdown(Record):
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
    rule: str
    message: str
    fix: str
    doubtful: bool

@dataclass(frozen=True, repr=False)
class MeasuredAllReduce(Record):
    bus_bytes_per_second: float
    nodes: int
    ranks: int
    bytes: int
    log_sd: float
    log_sd_per_doubling: float

@dataclass(frozen=True, repr=False)
class KnownGraph(Record):
    id: str
    instructions: int

@dataclass(frozen=True, repr=False)
class KnownCase(Record):
    id: str
    source: str
    job: str
    known: str
    distance: float
    differences: List[str]
    largest_known_graph: KnownGraph

@dataclass(frozen=True, repr=False)
class Reasons(Record):
    binds: str
    elasticity: float
    step_seconds_with_faster_kernels: float
    step_seconds_with_twice_the_nics: Optional[float]
    with_one_more_gibibyte: Optional[Plan]

@dataclass(frozen=True, repr=False)
class ClusterPlan(Plan):
    on_front: bool
    within_limits: bool

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
    key: str
    from_: str
    to: str
    line: int
    column: int

@dataclass(frozen=True, repr=False)
class Baseline(Record):
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
    probability_in_time: float
    probability_in_limits: float
    tokens_50: Optional[float]
    tokens_90: Optional[float]
    days_at_90: float
    usd_at_90: Optional[float]

@dataclass(frozen=True, repr=False)
class Refusal(Record):
    strategy: Strategy
    rule: str
    message: str
    fix: str
    step_seconds_bound: float
    memory_bytes_per_core: Optional[Memory]
    chips: Optional[List[int]]

@dataclass(frozen=True, repr=False)
class RuleCount(Record):
    rule: str
    strategies: int
    message: str
    fix: str

@dataclass(frozen=True, repr=False)
class Infeasible(Record):
    nodes_that_would_do: int
    nodes_in_limits: Optional[int]
    probability_in_limits: Optional[float]
    nearest_global_batch: int
    rules: List[RuleCount]
    closest: Optional[Strategy]
    memory_bytes_per_core: Optional[Memory]
    fastest: Optional[Plan]
    cheapest: Optional[Plan]

@dataclass(frozen=True, repr=False)
class CoreWork(Record):
    stage: int
    factor: float
    cores: int
    work_seconds: float
    waits_seconds: float

@dataclass(frozen=True, repr=False)
class RunsOfStep(Record):
    runs: int
    seed: int
    step_seconds_90: Tuple[float, float]

@dataclass(frozen=True, repr=False)
class Scenario(Record):
    scenario: str
    step_seconds: float
    tokens_per_second: float
    breakdown_seconds: Breakdown
    work: List[CoreWork]
    runs: Optional[RunsOfStep]

@dataclass(frozen=True, repr=False)
class Simulation(Plan):
    violations: Optional[List[Violation]]
    scenario: Optional[Scenario]

@dataclass(frozen=True, repr=False)
class Finding(Record):
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
    keys: int
    changes: List[Change]
    diff: str
    warnings: List[str]
    fit_probability: float
    works_probability: Optional[float]
    plan: Plan

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
    kind: str
    groups: int
    ranks: int
    verdict: str
    rule: str
    rings: List[List[int]]

@dataclass(frozen=True, repr=False)
class Verdict(Record):
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
class SlowNode(Record):
    node: str
    alone: bool
    in_pairs: bool
    problem: str
    fix: str
    command: List[str]

@dataclass(frozen=True, repr=False)
class HealthSize(Record):
    bytes: float
    seconds: float
    predicted_seconds: float
    predicted_seconds_90: Tuple[float, float]
    peer_seconds: Optional[float]
    ratio: float

@dataclass(frozen=True, repr=False)
class HealthTest(Record):
    nodes: List[str]
    slow: bool
    ratio: Optional[float]
    failure: Optional[str]
    file: str
    line: int
    sizes: List[HealthSize]

@dataclass(frozen=True, repr=False)
class HealthResult(Record):
    verdict: str
    instance: str
    profile: str
    slow_factor: float
    nodes: int
    alone: int
    pairs: int
    slow_nodes: List[SlowNode]
    tests: List[HealthTest]

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
class Price(Record):
    kind: str
    usd_per_hour: float
    region: str
    date: str
    terms: Optional[str]
    source: Optional[str]

@dataclass(frozen=True, repr=False)
class Instance(Record):
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
class SettableNumber(Record):
    key: str
    value: float
    unit: str

@dataclass(frozen=True, repr=False)
class InstanceNumbers(Record):
    instance: str
    numbers: List[SettableNumber]

@dataclass(frozen=True, repr=False)
class Rule(Record):
    id: str
    set: str
    what: str
    why: str
    fix: str
    sources: List[str]

@dataclass(frozen=True, repr=False)
class SupportedTarget(Record):
    name: str
    why_not: str
    ending: str

@dataclass(frozen=True, repr=False)
class Support(Record):
    model: str
    instance: str
    timed: bool
    planned: bool
    why_not: str
    written: List[str]
    launched: List[str]
    targets: List[SupportedTarget]

@dataclass(frozen=True, repr=False)
class WhatIfPoint(Record):
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
    usd_unused: Optional[float]
    usd_upfront: Optional[float]
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
    compared_runs: Optional[int]
    deadline_probability: Optional[float]
    budget_probability: Optional[float]
    probability_in_time: Optional[float]
    probability_in_limits: Optional[float]
    resolution: Optional[int]
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
class InstanceStanding(Record):
    instance: str
    point: int
    price: Optional[Price]
    other_prices: List[Price]
    cheapest_probability: Optional[float]
    break_even_usd_per_hour: Optional[float]
    break_even_against: Optional[str]

@dataclass(frozen=True, repr=False)
class WhatHelps(Record):
    option: str
    instance: str
    nodes: int
    probability_in_limits: float
    days: float
    usd: Optional[float]

@dataclass(frozen=True, repr=False)
class BillLine(Record):
    what: str
    usd_per_hour: float
    basis: str

@dataclass(frozen=True, repr=False)
class Offer(Record):
    id: str
    service: str
    instance: str
    instances: int
    zone: str
    start: str
    end: str
    usd: float
    cluster: int

@dataclass(frozen=True, repr=False)
class OfferedCluster(Record):
    instance: str
    nodes: int
    strategy: Optional[Strategy]
    tokens_per_second: Optional[float]
    goodput: Optional[float]
    works_probability: Optional[float]
    why: str

@dataclass(frozen=True, repr=False)
class ComparedPlan(Record):
    name: str
    plan: Plan
    violations: List[Violation]

@dataclass(frozen=True, repr=False)
class KeyDifference(Record):
    key: str
    values: Tuple[str, str]

@dataclass(frozen=True, repr=False)
class PartSeconds(Record):
    part: str
    seconds: Tuple[float, float]

@dataclass(frozen=True, repr=False)
class OverRuns(Record):
    median: Optional[float]
    low: Optional[float]
    high: Optional[float]

@dataclass(frozen=True, repr=False)
class ClusterJob(Record):
    name: str
    model: str
    nodes: int
    strategy: str
    tokens: float
    priority: int
    step_seconds: float
    step_low_seconds: float
    step_high_seconds: float
    step_together_seconds: float
    step_together_most_seconds: float
    spine_share: float
    checkpoint_steps: int
    days: OverRuns
    waiting_hours: OverRuns
    recovering_hours: OverRuns
    failures: OverRuns
    goodput: OverRuns
    goodput_alone: float
    usd: Optional[OverRuns]

@dataclass(frozen=True, repr=False)
class ClusterOption(Record):
    value: int
    days: OverRuns
    ended: float
    usd: Optional[float]

@dataclass(frozen=True, repr=False)
class ClusterOptions(Record):
    rows: List[ClusterOption]
    recommended: int
    tied: List[int]

@dataclass(frozen=True, repr=False)
class ClusterResult(Record):
    instance: str
    nodes: int
    spares: int
    oversubscription: float
    scheduler: str
    reliability: str
    repair_hours: Optional[float]
    repair_slots: int
    usd_per_node_hour: Optional[float]
    runs: int
    days: OverRuns
    ended: float
    given_up_days: Optional[float]
    use: OverRuns
    usd: Optional[float]
    jobs: List[ClusterJob]
    spares_asked: Optional[ClusterOptions]
    checkpoint_steps_asked: Optional[ClusterOptions]

@dataclass(frozen=True, repr=False)
class Estimate(Record):
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
class Stack(Record):
    framework: str
    release: str
    instance: str
    layout: str
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
class LeftOut(Record):
    id: str
    reason: str
    fix: Optional[str]

@dataclass(frozen=True, repr=False)
class MachineParameter(Record):
    name: str
    library: str
    unit: str
    prior: Estimate
    fitted: Estimate
    prior_share: float
    verdict: str
    shapes: int
    most_by: int

@dataclass(frozen=True, repr=False)
class TimedShape(Record):
    shape: str
    kind: str
    file: str
    line: int
    count: int
    measured_seconds: float
    before_seconds: float
    after_seconds: float
    misses: float
    contradicts: bool

@dataclass(frozen=True, repr=False)
class MachinePlan(Record):
    strategy: str
    step_seconds: float
    step_seconds_low: float
    step_seconds_high: float

@dataclass(frozen=True, repr=False)
class MachineChange(Record):
    job: str
    before: Optional[MachinePlan]
    held: Optional[MachinePlan]
    after: Optional[MachinePlan]

@dataclass(frozen=True, repr=False)
class Understood(Record):
    kind: str
    pieces: int

@dataclass(frozen=True, repr=False)
class StepSample(Record):
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
    global_batch: Optional[float]
    sequence: Optional[float]
    sequences_per_second: Optional[float]
    tokens_per_second: Optional[float]

@dataclass(frozen=True, repr=False)
class Skipped(Record):
    line: int
    key: str
    problem: str
    fix: str

@dataclass(frozen=True, repr=False)
class LogFile(Record):
    file: str
    understood: List[Understood]
    steps: List[StepSample]
    memory: List[Dict[str, Any]]
    collectives: List[Dict[str, Any]]
    graphs: List[Dict[str, Any]]
    skipped: List[Skipped]

@dataclass(frozen=True, repr=False)
class ExplainedParameter(Record):
    name: str
    unit: str
    meaning: str
    prior: Optional[Estimate]
    value: Estimate
    spread_left: Optional[float]
    taught_by: str
    step_share: Optional[float]
    doubt_share: Optional[float]
    other: Optional[Estimate]
    apart: Optional[float]

@dataclass(frozen=True, repr=False)
class ProfileExplanation(Record):
    profile: str
    schema: str
    instance: str
    prior: str
    tool: str
    files: List[Dict[str, Any]]
    stacks: List[Stack]
    ranges: List[Dict[str, Any]]
    own_values: List[str]
    parameters: List[ExplainedParameter]
    plan: Optional[Dict[str, Any]]
    compared: str

@dataclass(frozen=True, repr=False)
class FittedGpuParameter(Record):
    name: str
    scope: str
    prior: Estimate
    value: Estimate
    shipped: float
    moved: float

@dataclass(frozen=True, repr=False)
class GpuFitErrors(Record):
    source: str
    rows: int
    median: float
    mean: float
    left_out_median: float
    left_out_mean: float
    without_network_median: float
    without_network_mean: float

@dataclass(frozen=True, repr=False)
class GpuFitResult(Record):
    profile: str
    prior: str
    rows: int
    iterations: int
    parameters: List[FittedGpuParameter]
    sources: List[GpuFitErrors]

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
class IntervalBin(Record):
    half_width_below: Optional[float]
    rows: int
    coverage_90: float

@dataclass(frozen=True, repr=False)
class PublishedCase(Record):
    id: str
    kind: str
    source: str
    model: str
    instance: str
    known: str

@dataclass(frozen=True, repr=False)
class MemoryCase(PublishedCase):
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
class LeftOutCase(PublishedCase):
    reason: str

@dataclass(frozen=True, repr=False)
class SourceScore(Record):
    source: str
    layouts: int
    log_score: float
    log_score_left_out: float

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
class Fault(Record):
    file: str
    line: int
    column: int
    key: str
    problem: str
    fix: str

@dataclass(frozen=True, repr=False)
class LaunchResult(Record):
    scheduler: str
    dry_run: bool
    already_submitted: bool
    jobs: Dict[str, str]
    commands: List[List[str]]
    faults: Optional[List[Fault]]

@dataclass(frozen=True, repr=False)
class WatchAlarm(Record):
    kind: str
    message: str
    cause: str
    fix: str
    step: Optional[int]
    line: Optional[int]

@dataclass(frozen=True, repr=False)
class WatchEvent(Record):
    kind: str
    line: int
    text: str

@dataclass(frozen=True, repr=False)
class WatchFailure(Record):
    kind: str
    rule: str
    file: str
    line: int
    count: int
    text: str
    problem: str
    fix: str
    ranks: List[int]
    chips: List[int]
    next: Optional[str]
    next_step_seconds: Optional[float]
    run_went_on: bool

@dataclass(frozen=True, repr=False)
class WatchExplanation(Record):
    kind: str
    what: str
    probability: Optional[float]
    as_likely: bool
    value: Optional[float]
    times: Optional[float]
    step_seconds: Optional[float]
    scenario: Optional[str]
    command: List[str]
    check: str

@dataclass(frozen=True, repr=False)
class WatchResult(Record):
    source: str
    state: str
    step: int
    total_steps: int
    step_seconds: Optional[float]
    recent_step_seconds: Optional[float]
    timed_steps: int
    predicted_step_seconds: Optional[float]
    predicted_step_seconds_90: Optional[Tuple[float, float]]
    tokens_per_second: Optional[float]
    loss: Optional[float]
    memory_bytes_per_core: Optional[float]
    predicted_memory_bytes_per_core: Optional[float]
    wall_seconds: Optional[float]
    goodput: Optional[float]
    restarts: int
    lost_steps: int
    eta_seconds: Optional[float]
    usd_so_far: Optional[float]
    usd_total: Optional[float]
    finished: bool
    failed: bool
    alarms: List[WatchAlarm]
    events: List[WatchEvent]
    failures: List[WatchFailure]
    explanations: List[WatchExplanation]
    to_tell: str
    remarks: List[str]
