"""Results in notebooks: a table each. A whole report, as a page of its own, would be called from ``of``."""

from __future__ import annotations

from html import escape
from typing import Any, Iterable, List, Optional, Sequence, Tuple

from .learning import CalibrateResult
from .machines import CollectiveResult, CollectiveSweep, InstancesResult, ModelsResult, TopologyResult
from .plans import CheckResult, Plan, PlanResult, SimulateResult
from .records import Result
from .runs import WhatIfResult

_GIB = 2.0**30
_MOST_ROWS = 60
Row = Tuple[Any, ...]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"
    return escape(str(value))


def _table(heads: Sequence[str], rows: Iterable[Row], marked: Optional[int] = None, title: str = "") -> str:
    body: List[str] = []
    listed = list(rows)
    for i, row in enumerate(listed[:_MOST_ROWS]):
        style = ' style="font-weight: bold"' if i == marked else ""
        body.append(f"<tr{style}>" + "".join(f"<td>{_cell(v)}</td>" for v in row) + "</tr>")
    if len(listed) > _MOST_ROWS:
        body.append(f'<tr><td colspan="{len(heads)}">and {len(listed) - _MOST_ROWS} more</td></tr>')
    head = "".join(f"<th>{escape(h)}</th>" for h in heads)
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    return f'<table class="trnplan">{caption}<thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table>'


_PLAN = ("strategy", "instance", "nodes", "s a step", "90 % from", "to", "tokens/s", "MFU %", "GiB a core", "fits %",
         "USD/h")  # fmt: skip


def _plan(p: Plan) -> Row:
    m = p.memory_bytes_per_core
    fits = None if m.fit_probability is None else m.fit_probability * 100
    return (p.strategy, p.strategy.instance, p.strategy.nodes, p.step_seconds, *p.step_seconds_90,
            p.tokens_per_second, p.mfu * 100, m.peak / _GIB, fits, p.usd_per_hour)  # fmt: skip


def _plans(r: PlanResult) -> str:
    if not r.plans:
        why = r.infeasible
        rules = why.rules if why else []
        return _table(("rule", "strategies", "message", "fix"),
                      [(x.rule, x.strategies, x.message, x.fix) for x in rules], title="No plan fits")  # fmt: skip
    return _table(("rank", *_PLAN), [(p.rank, *_plan(p)) for p in r.plans], r.recommended,
                  f"{len(r.plans)} plans; bold: recommended")  # fmt: skip


def _simulated(r: SimulateResult) -> str:
    broken = _table(("rule", "message", "fix"), [(v.rule, v.message, v.fix) for v in r.violations or ()])
    plan = _table(_PLAN, [_plan(r.plan)]) if r.plan else ""
    return plan + (broken if r.violations else "")


def _clusters(r: WhatIfResult) -> str:
    heads = ("instance", "nodes", "strategy", "s a step", "tokens/s", "MFU %", "goodput %", "days", "USD", "why not")
    rows = [
        (p.instance, p.nodes, p.strategy, p.step_seconds, p.tokens_per_second,
         None if p.mfu is None else p.mfu * 100, None if p.goodput is None else p.goodput * 100, p.days, p.usd, p.why)
        for p in r.points
    ]  # fmt: skip
    return _table(heads, rows, r.recommended, r.reason)


def _config(r: CheckResult) -> str:
    heads = ("severity", "rule", "key", "line", "message", "fix")
    rows = [(f.severity, f.rule, f.key, f.line or None, f.message, f.fix) for f in r.findings]
    plan = _table(_PLAN, [_plan(r.prediction)]) if r.prediction else ""
    return _table(heads, rows, title=r.verdict) + plan


def _collectives(r: Result) -> str:
    rows = r.results if isinstance(r, CollectiveSweep) else [r] if isinstance(r, CollectiveResult) else []
    return _table(("op", "ranks", "bytes", "algorithm", "s in a graph", "s of nccom-test", "busbw GB/s"),
                  [(c.op, c.ranks, c.bytes, c.algorithm, c.seconds, c.nccom_seconds, c.busbw_gbps)
                   for c in rows])  # fmt: skip


def _groups(r: TopologyResult) -> str:
    return _table(("kind", "groups", "ranks", "verdict", "rule"),
                  [(k.kind, k.groups, k.ranks, k.verdict, k.rule) for k in r.kinds],
                  title=f"{r.nodes} x {r.instance}: {r.verdict}")  # fmt: skip


def _fit(r: CalibrateResult) -> str:
    return _table(("parameter", "unit", "prior", "fitted", "log sd", "verdict"),
                  [(p.name, p.unit, p.prior.median, p.fitted.median, p.fitted.log_sd, p.verdict)
                   for p in r.parameters or ()], title=r.profile or "no fit")  # fmt: skip


def _summary(r: Result) -> str:
    told = r.to_dict()
    numbers = told.get("summary", told)
    return _table(("", ""), [(k, v) for k, v in numbers.items() if isinstance(v, (int, float, str))])


def of(r: Result) -> str:
    """A result as HTML."""
    if isinstance(r, PlanResult):
        return _plans(r)
    if isinstance(r, SimulateResult):
        return _simulated(r)
    if isinstance(r, WhatIfResult):
        return _clusters(r)
    if isinstance(r, CheckResult):
        return _config(r)
    if isinstance(r, (CollectiveResult, CollectiveSweep)):
        return _collectives(r)
    if isinstance(r, TopologyResult):
        return _groups(r)
    if isinstance(r, CalibrateResult):
        return _fit(r)
    if isinstance(r, ModelsResult):
        return _table(("model", "parameters", "layers", "hidden"),
                      [(m.name, m.parameters, m.layers, m.hidden) for m in r.models])  # fmt: skip
    if isinstance(r, InstancesResult):
        return _table(("instance", "chips", "cores", "NICs"),
                      [(i.name, i.chips, i.cores, i.nics) for i in r.instances])  # fmt: skip
    return _summary(r)
