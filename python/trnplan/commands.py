"""Functions of the package: one per command of the program, with its options as arguments."""

from __future__ import annotations

import json
import os
from typing import Any, Callable, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union

from . import _native, errors, records
from .inputs import Arguments, Config, Count, Duration, Job, strategy_text
from .results import (
    CalibrateResult,
    CheckResult,
    CollectiveResult,
    CollectiveSweep,
    ExplainResult,
    GoodputValidation,
    InstancesResult,
    MemoryValidation,
    ModelsResult,
    OfferingsResult,
    Plan,
    PlanResult,
    ScoreResult,
    SimulateResult,
    StepValidation,
    Strategy,
    SupportResult,
    TopologyResult,
    ValidateResult,
    WhatIfResult,
    CollectiveValidation,
    CompareResult,
)

Path = Union[str, "os.PathLike[str]"]
R = TypeVar("R", bound=records.Result)


def _read(cls: Type[R], answered: Tuple[str, List[str]]) -> R:
    return records.result(cls, json.loads(answered[0]), answered[1])


def plan(
    job: Job,
    *,
    nodes: Union[int, str, Sequence[int], None] = None,
    instance: Union[str, Sequence[str], None] = None,
    sequence: Optional[int] = None,
    global_batch: Union[int, str, None] = None,
    tokens: Optional[Count] = None,
    precision: Optional[str] = None,
    release: Optional[str] = None,
    all_reduce_gbps: Union[float, str, None] = None,
    measured: Optional[Path] = None,
    objective: Optional[str] = None,
    deadline: Optional[Duration] = None,
    budget: Optional[Count] = None,
    scheduler: Optional[str] = None,
    baseline: Optional[Config] = None,
    target: Optional[str] = None,
    risk: Optional[str] = None,
    allow_doubtful: Optional[bool] = None,
    top: Optional[int] = None,
    threads: Optional[int] = None,
    time_limit: Optional[float] = None,
    fit_probability: Optional[float] = None,
    sure: Optional[float] = None,
    profile: Optional[Path] = None,
    hardware: Optional[Sequence[str]] = None,
    price: Optional[Path] = None,
    pricing: Optional[str] = None,
    out: Optional[Path] = None,
    report: Optional[Path] = None,
    force: Optional[bool] = None,
    progress: Optional[Callable[[int, int, Optional[float]], None]] = None,
) -> PlanResult:
    """Finds the fastest strategies of a job, the recommended one, its probabilities, and reasons for refusing others.

    job: a job.yaml, a model that ``models()`` lists, an HF config.json, an NxDT YAML, their text, or a dict.
    nodes, instance, sequence (tokens), global_batch (sequences per step), tokens (of the whole run), precision, release (of
        the Neuron SDK), objective, deadline, budget (USD): instead of those in the job.
    all_reduce_gbps: measured bus bandwidth of a large all-reduce (10^9 bytes/s), ``161`` or ``"161@32"`` with its nodes;
        measured: instead of it a file with the output of nccl-tests or nccom-test.
    scheduler: ``slurm``, ``eks`` or ``local``: `out` gets only the jobs and cluster files of this one.
    baseline: an NxDT YAML in use: adds the speedup of the plan, and the keys to change.
    target: stack that trains the plan, such as ``nxdt`` or ``nxd``; default: that of the job's framework.
    risk: ``neutral``, ``averse`` or ``fastest``.
    top: plans to list (5). threads: 0 for one per core; the answer does not depend on it.
    time_limit: seconds, after which the best plan so far is returned. fit_probability: least probability of a plan to
        fit (0.9). sure: probability from which two plans count as distinguished (0.9).
    profile: a name of the catalogue, or a .json written by ``calibrate``.
    hardware: numbers of the instance type, changed: ``["core.memory=32GiB", "nic_bandwidth=x2"]``.
    price: per node by type, ``"p5.48xlarge=38.2/h"``, or a file. pricing: kind of the prices, such as ``spot``.
    out: a folder for config and scripts. report: a .html for the answer with its charts, as in ``to_html()``. force:
        overwrites files in `out`, and `report`.
    progress: called about ten times a second with the numbers of strategies simulated and open, and the seconds of the
        best step so far or None. An exception from it ends the search.

    If nothing fits, ``plans`` is empty and ``infeasible`` states what would help. Ctrl-C ends the search with
    KeyboardInterrupt. Raises InputError with every fault; if a plan was found and only `out` or `report` cannot be
    written, its ``result`` is the plan.
    """
    arguments = (
        Arguments(hardware=hardware, target=target, risk=risk, allow_doubtful=allow_doubtful, top=top, threads=threads,
                  time_limit=time_limit, fit_probability=fit_probability, sure=sure, force=force, pricing=pricing)
        .document("job", job)
        .document("baseline", baseline)
        .words(nodes=nodes, instance=instance, sequence=sequence, global_batch=global_batch, tokens=tokens,
               precision=precision, release=release, objective=objective, deadline=deadline, budget=budget,
               scheduler=scheduler, all_reduce_gbps=all_reduce_gbps)
        .paths(measured=measured, price=price, profile=profile, out=out, report=report)
    )  # fmt: skip
    document, remarks, page, unwritten = _native.plan(arguments.values, progress)
    return errors.kept(records.result(PlanResult, json.loads(document), remarks, page), unwritten)


def simulate(
    job: Job,
    strategy: Union[str, Mapping[str, Any], Strategy],
    *,
    nodes: Union[int, str, Sequence[int], None] = None,
    instance: Union[str, Sequence[str], None] = None,
    sequence: Optional[int] = None,
    global_batch: Union[int, str, None] = None,
    precision: Optional[str] = None,
    release: Optional[str] = None,
    all_reduce_gbps: Union[float, str, None] = None,
    measured: Optional[Path] = None,
    scenario: Optional[str] = None,
    profile: Optional[Path] = None,
    hardware: Optional[Sequence[str]] = None,
    price: Optional[Path] = None,
    trace: Optional[Path] = None,
    report: Optional[Path] = None,
    force: Optional[bool] = None,
) -> SimulateResult:
    """Simulates one strategy of a job in detail.

    strategy: ``"tp=8,pp=4"``, a dict with these keys or those of docs/json.md, or the strategy of a result.
    hardware: numbers of the instance type, changed: ``["core.memory=32GiB", "nic_bandwidth=x2"]``.
    price: per node by type, ``"p5.48xlarge=38.2/h"``, or a file.
    all_reduce_gbps, measured: as in ``plan()``.
    scenario: ``"slow-node=3:1.2,nic=5:0.875"``, or a .yaml file with these keys: ``scenario`` of the result.
    trace: a .pftrace or .json for the timeline, for ui.perfetto.dev. report: a .html for the page of ``to_html()``.
        force: overwrites these files.

    A strategy that the rules refuse is simulated anyway if that makes sense: ``violations`` contains the rules, and
    ``plan`` is None if there is no prediction. Raises InputError with every fault.
    """
    arguments = (
        Arguments(hardware=hardware, strategy=strategy_text(strategy), scenario=scenario, force=force)
        .document("job", job)
        .words(nodes=nodes, instance=instance, sequence=sequence, global_batch=global_batch, precision=precision,
               release=release, all_reduce_gbps=all_reduce_gbps)
        .paths(measured=measured, price=price, profile=profile, trace=trace, report=report)
    )  # fmt: skip
    document, remarks, page, unwritten = _native.simulate(arguments.values)
    answer = json.loads(document)
    judged = records.result(SimulateResult, answer, remarks, page)
    if "strategy" in answer:  # the plan's keys are next to the violations
        of_plan = {key: value for key, value in answer.items() if key not in ("schema_version", "violations", "scenario")}
        object.__setattr__(judged, "plan", records.build(Plan, of_plan))
    return errors.kept(judged, unwritten)


def whatif(
    job: Job,
    nodes: Union[int, str, Sequence[int], None] = None,
    *,
    instances: Union[str, Sequence[str], None] = None,
    tokens: Optional[Count] = None,
    deadline: Optional[Duration] = None,
    budget: Optional[Count] = None,
    confidence: Union[float, str, None] = None,
    sequence: Optional[int] = None,
    global_batch: Union[int, str, None] = None,
    precision: Optional[str] = None,
    release: Optional[str] = None,
    all_reduce_gbps: Union[float, str, None] = None,
    measured: Optional[Path] = None,
    scaling: Optional[str] = None,
    prefer: Optional[str] = None,
    risk: Optional[str] = None,
    allow_doubtful: Optional[bool] = None,
    pricing: Optional[str] = None,
    usd_per_node_hour: Optional[float] = None,
    price: Optional[Path] = None,
    discount: Optional[str] = None,
    term: Optional[str] = None,
    upfront: Optional[str] = None,
    storage_gib: Optional[float] = None,
    storage_usd_per_gib_month: Optional[float] = None,
    other_usd_per_hour: Optional[float] = None,
    recovery: Optional[str] = None,
    async_checkpoints: Optional[bool] = None,
    checkpoint_steps: Optional[int] = None,
    storage_gb_per_second: Optional[float] = None,
    failures_per_node_day: Optional[float] = None,
    reliability: Optional[Path] = None,
    scenario: Optional[str] = None,
    profile: Optional[Path] = None,
    hardware: Optional[Sequence[str]] = None,
    report: Optional[Path] = None,
    force: Optional[bool] = None,
) -> WhatIfResult:
    """Compares clusters for a whole run, by days, dollars or tokens, with failures and checkpoints, and recommends one.

    nodes: ``"4..128"`` doubles, ``[4, 8, 16]`` lists; None: the fewest that keep the limits are found.
    confidence (``"90%"`` or 0.9): least probability that the run works and keeps them.
    instances: types, instead of the job's.
    hardware: numbers of the instance type, changed: ``["core.memory=32GiB", "nic_bandwidth=x2"]``.
    all_reduce_gbps (``"161@32"``), measured: as in ``plan()``.
    tokens, deadline (``"30d"`` or a timedelta), budget (USD): of the whole run, instead of the job's.
    scaling: ``strong`` or ``weak``. prefer: ``fitting``, ``cheapest``, ``fastest`` or ``smallest``.
    pricing: ``on-demand``, ``reserved``, ``capacity-block`` or ``spot``; usd_per_node_hour instead of the catalogue's.
    price: ``"p5.48xlarge=38.2/h,trn2=20/h"`` or a file; discount: ``"15%"``, ``"savings-plan=28%"``; term: ``"1y"`` or
    ``"3y"``, upfront: ``"50%"``.
    storage_gib, storage_usd_per_gib_month, other_usd_per_hour: other costs.
    recovery: ``automatic`` or ``manual``; async_checkpoints; checkpoint_steps instead of the best;
    storage_gb_per_second: rate of writing checkpoints, all nodes together (10^9 bytes/s).
    reliability: a file like catalog/reliability.json; failures_per_node_day: median failures of a whole
    node per day instead of its own.
    scenario: ``"spine=0.5"``, as ``trnplan simulate --help`` lists them; where nodes are solved for only spine and jitter.
        Plans are for a spine that is stated, unless the network was measured.
    report: a .html for the page of ``to_html()``; force: overwrites it.

    If no cluster keeps the limits, ``recommended`` is -1 and ``best`` None. Raises InputError with every fault.
    """
    arguments = (
        Arguments(hardware=hardware, scaling=scaling, prefer=prefer, risk=risk, allow_doubtful=allow_doubtful, pricing=pricing,
                  usd_per_node_hour=usd_per_node_hour, storage_gib=storage_gib,
                  storage_usd_per_gib_month=storage_usd_per_gib_month, other_usd_per_hour=other_usd_per_hour,
                  recovery=recovery, async_checkpoints=async_checkpoints, checkpoint_steps=checkpoint_steps,
                  storage_gb_per_second=storage_gb_per_second, failures_per_node_day=failures_per_node_day, force=force)
        .document("job", job)
        .words(nodes=nodes, instances=instances, tokens=tokens, deadline=deadline, budget=budget, confidence=confidence,
               sequence=sequence, global_batch=global_batch, precision=precision, release=release,
               all_reduce_gbps=all_reduce_gbps, discount=discount, term=term, upfront=upfront, scenario=scenario)
        .paths(measured=measured, reliability=reliability, price=price, profile=profile, report=report)
    )  # fmt: skip
    document, remarks, page, unwritten = _native.whatif(arguments.values)
    return errors.kept(records.result(WhatIfResult, json.loads(document), remarks, page), unwritten)


def offerings(
    job: Job,
    offers: Path,
    *,
    tokens: Optional[Count] = None,
    deadline: Optional[Duration] = None,
    budget: Optional[Count] = None,
    confidence: Union[float, str, None] = None,
    sequence: Optional[int] = None,
    global_batch: Union[int, str, None] = None,
    precision: Optional[str] = None,
    release: Optional[str] = None,
    all_reduce_gbps: Union[float, str, None] = None,
    measured: Optional[Path] = None,
    risk: Optional[str] = None,
    allow_doubtful: Optional[bool] = None,
    recovery: Optional[str] = None,
    async_checkpoints: Optional[bool] = None,
    checkpoint_steps: Optional[int] = None,
    storage_gb_per_second: Optional[float] = None,
    reliability: Optional[Path] = None,
    profile: Optional[Path] = None,
) -> OfferingsResult:
    """Chooses the Capacity Blocks or training plans to buy for a whole run.

    offers: a file with what ``aws ec2 describe-capacity-block-offerings`` or ``aws sagemaker
    search-training-plan-offerings`` prints.
    confidence: with which the run must be done (95 %). deadline: counts from the earliest start.
    Others: as in ``whatif()``. If no choice is enough, ``recommended`` is False, and ``buy`` gets farthest. Raises
    InputError with every fault.
    """
    arguments = (
        Arguments(risk=risk, allow_doubtful=allow_doubtful, recovery=recovery, async_checkpoints=async_checkpoints,
                  checkpoint_steps=checkpoint_steps, storage_gb_per_second=storage_gb_per_second)
        .document("job", job)
        .words(tokens=tokens, deadline=deadline, budget=budget, confidence=confidence, sequence=sequence,
               global_batch=global_batch, precision=precision, release=release, all_reduce_gbps=all_reduce_gbps)
        .paths(offers=offers, measured=measured, reliability=reliability, profile=profile)
    )  # fmt: skip
    return _read(OfferingsResult, _native.offerings(arguments.values))


def compare(
    first: str,
    second: str,
    *,
    job: Optional[Job] = None,
    nodes: Union[int, str, Sequence[int], None] = None,
    instance: Union[str, Sequence[str], None] = None,
    sequence: Optional[int] = None,
    global_batch: Union[int, str, None] = None,
    tokens: Optional[Count] = None,
    precision: Optional[str] = None,
    release: Optional[str] = None,
    all_reduce_gbps: Union[float, str, None] = None,
    measured: Optional[Path] = None,
    target: Optional[str] = None,
    profile: Optional[Path] = None,
) -> CompareResult:
    """Compares two strategies, clusters, folders, configs or start scripts of one job.

    first, second: ``"tp=8,pp=4"``, ``"4xtrn1.32xlarge"`` (its recommended plan), both as ``"4xtrn1.32xlarge:tp=8"``, a folder
    of ``plan(out=...)``, or a file. The job is needed for the first three. Raises InputError with every fault.
    """
    arguments = (
        Arguments(first=first, second=second, target=target)
        .document("job", job)
        .words(nodes=nodes, instance=instance, sequence=sequence, global_batch=global_batch, tokens=tokens,
               precision=precision, release=release, all_reduce_gbps=all_reduce_gbps)
        .paths(measured=measured, profile=profile)
    )  # fmt: skip
    return _read(CompareResult, _native.compare(arguments.values))


def check(
    config: Config,
    *,
    target: Optional[str] = None,
    env: Optional[Mapping[str, str]] = None,
    nodes: Optional[int] = None,
    instance: Optional[str] = None,
    release: Optional[str] = None,
    framework_version: Optional[str] = None,
    profile: Optional[Path] = None,
) -> CheckResult:
    """Checks a config, or the script that starts a run: its faults, its replica groups and memory, its predicted step.
    Takes a path or a text; for NxDT's config also a dict.

    target: the file's target (``"torchtitan"``), if the file does not show it.
    env: variables with which a script starts, by name.
    nodes, instance: instead of trainer.num_nodes and of the type that has as many cores as trainer.devices.
    release: of the Neuron SDK. framework_version: of NxDT, as ``"1.6"``.
    Raises InputError if it is no config or script of a target; faults in one are findings.
    """
    arguments = (
        Arguments(
            target=target,
            env=dict(env) if isinstance(env, Mapping) else env,
            nodes=nodes,
            instance=instance,
            release=release,
            framework_version=framework_version,
        )
        .document("config", config)
        .paths(profile=profile)
    )
    return _read(CheckResult, _native.check(arguments.values))


def calibrate(
    files: Union[Path, Sequence[Path]] = (),
    *,
    runs: Union[Path, Sequence[Path]] = (),
    kernels: Union[str, Sequence[str]] = (),
    job: Optional[Job] = None,
    strategy: Union[str, Mapping[str, Any], Strategy, None] = None,
    config: Optional[Config] = None,
    build: Optional[str] = None,
    op: Optional[str] = None,
    ranks: Optional[int] = None,
    nodes: Optional[int] = None,
    instance: Optional[str] = None,
    with_catalogue: Optional[bool] = None,
    no_fit: Optional[bool] = None,
    profile: Optional[Path] = None,
    out: Optional[Path] = None,
    force: Optional[bool] = None,
) -> CalibrateResult:
    """Reads logs of runs, and fits a profile to them: whole steps, collectives, kernels.

    files: training logs, nccom-test output, event files and so on, recognised by their content.
    runs: folders of ``plan(out=...)`` that ran. kernels: ``"FILE=OP,key=value"``.
    job with strategy, or config: what ran when the logs were written.
    build, op, ranks, nodes: of tables that do not state them. instance: the machine that was measured.
    with_catalogue: also fits the published runs. no_fit: only compares.
    profile: the prior. out: the .json to write; force: overwrites it, and writes it even if the fit explains nothing.

    ``refused`` is True if `out` was not written because the fit explains too little. Raises InputError with every fault.
    """
    arguments = (
        Arguments(strategy=None if strategy is None else strategy_text(strategy), build=build, op=op, ranks=ranks,
                  nodes=nodes, instance=instance, with_catalogue=with_catalogue, no_fit=no_fit, force=force)
        .lists(files=files, runs=runs, kernels=kernels)
        .document("job", job)
        .document("config", config)
        .paths(profile=profile, out=out)
    )  # fmt: skip
    document, remarks, refused = _native.calibrate(arguments.values)
    fitted = _read(CalibrateResult, (document, remarks))
    object.__setattr__(fitted, "refused", refused)
    return fitted


_VALIDATIONS: Mapping[str, Type[ValidateResult]] = {
    "excluded": StepValidation,
    "groups": ScoreResult,
    "cases": MemoryValidation,
    "tables": CollectiveValidation,
    "reliability": GoodputValidation,
}


def validate(
    runs: Optional[Path] = None,
    *,
    of: Optional[str] = None,
    leave_out: Optional[str] = None,
    predictions: Optional[Path] = None,
    network_state: Optional[bool] = None,
    job: Optional[Path] = None,
    framework: Optional[str] = None,
    instance: Optional[str] = None,
    release: Optional[str] = None,
    profile: Optional[Path] = None,
    report: Optional[Path] = None,
    force: Optional[bool] = None,
) -> ValidateResult:
    """Compares predictions with published data.

    runs: a CSV like catalog/measured-runs.csv, or a table of layouts; default: the catalogue's.
    of: ``steps`` (StepValidation), ``table`` (every row simulated, without a fit: ScoreResult), ``memory``
        (MemoryValidation), ``goodput`` (GoodputValidation) or ``collectives`` (CollectiveValidation). By default,
        a table of layouts is scored as ``table``.
    leave_out: for steps, the data that a fit must not have seen: ``configuration``, ``run_group`` or ``none``.
    predictions: for a table, a CSV of id,step_s[,mem_gib] of another tool to score.
    network_state: for a table, False ignores the measurements of the network in its rows.
    job, framework, instance, release: for a table of your own, what its rows do not state.
    report: for steps and tables, a .html for the page of ``to_html()``; force: overwrites it.
    """
    arguments = Arguments(
        of=of,
        leave_out=leave_out,
        network_state=network_state,
        framework=framework,
        instance=instance,
        release=release,
        force=force,
    ).paths(job=job, runs=runs, predictions=predictions, profile=profile, report=report)
    document, remarks, page, unwritten = _native.validate(arguments.values)
    answer = json.loads(document)
    cls = next(cls for key, cls in _VALIDATIONS.items() if key in answer)
    return errors.kept(records.result(cls, answer, remarks, page), unwritten)


def collective(
    op: str,
    *,
    bytes: Union[int, str, None] = None,
    most_bytes: Union[int, str, None] = None,
    factor: Optional[float] = None,
    ranks: Optional[int] = None,
    nodes: Optional[int] = None,
    algorithm: Optional[str] = None,
    datatype: Optional[str] = None,
    instance: Optional[str] = None,
    oversubscription: Optional[float] = None,
    profile: Optional[Path] = None,
    hardware: Optional[Sequence[str]] = None,
) -> Union[CollectiveResult, CollectiveSweep]:
    """Times one collective; with `most_bytes`, a sweep of sizes.

    op: ``all_reduce``, ``all_gather``, ``reduce_scatter``, ``all_to_all``, ``permute``, ``send_recv``, or nccom-test's name.
    bytes: as nccom-test counts them; ``"64M"`` is 64 x 2^20. factor: from one size to the next (2).
    ranks: over all nodes; default: all cores. oversubscription: ratio of NIC rates to the capacity of the network (1).
    hardware: numbers of the instance type, changed: ``["core.memory=32GiB", "nic_bandwidth=x2"]``.
    A group that the runtime would refuse is timed anyway; ``verdict`` states the refusal.
    """
    arguments = (
        Arguments(hardware=hardware, op=op, factor=factor, ranks=ranks, nodes=nodes, algorithm=algorithm, datatype=datatype,
                  instance=instance, oversubscription=oversubscription)
        .words(bytes=bytes, most_bytes=most_bytes)
        .paths(profile=profile)
    )  # fmt: skip
    answered = _native.collective(arguments.values)
    return _read(CollectiveSweep if most_bytes is not None else CollectiveResult, answered)


def topology(
    *,
    instance: Optional[str] = None,
    neuron_ls: Optional[Path] = None,
    nodes: Optional[int] = None,
    tp: Optional[int] = None,
    pp: Optional[int] = None,
    dp: Optional[int] = None,
    cp: Optional[int] = None,
    profile: Optional[Path] = None,
) -> TopologyResult:
    """Returns links, NICs and rings of a node, and the verdict on every replica group of a layout.

    neuron_ls: a file with the output of neuron-ls, instead of the catalogue's links.
    tp, pp, dp, cp: degrees; default of dp: the remaining ranks. Without any degree, no group is judged.
    """
    arguments = Arguments(instance=instance, nodes=nodes, tp=tp, pp=pp, dp=dp, cp=cp).paths(
        neuron_ls=neuron_ls, profile=profile
    )
    return _read(TopologyResult, _native.topology(arguments.values))


def explain(id: Optional[str] = None) -> ExplainResult:
    """Explains the id of a refusal, a finding or a remark, and how to satisfy it; without an id, all of them."""
    return _read(ExplainResult, _native.explain(Arguments(id=id).values))


def support(model: Optional[Path] = None, instance: Optional[str] = None) -> SupportResult:
    """Lists what can be planned, timed, written and launched, for one model or all, on one instance type or all."""
    return _read(SupportResult, _native.support(Arguments(instance=instance).paths(model=model).values))


def models() -> ModelsResult:
    """Lists the models of the catalogue."""
    return _read(ModelsResult, _native.models())


def instances() -> InstancesResult:
    """Lists the instance types of the catalogue."""
    return _read(InstancesResult, _native.instances())


def catalogue() -> str:
    """Returns the folder of the catalogue: $TRNPLAN_CATALOG, else that of the package."""
    return _native.catalogue()
