"""Results in notebooks, in HTML files and in Python's own output: as pages and as tables."""

from __future__ import annotations

from html import escape
from typing import Any, Iterable, List, Optional, Sequence, Tuple

from . import pages
from .records import Result
from .results import (
    CalibrateResult,
    CheckResult,
    Collective,
    CollectiveResult,
    CollectiveSweep,
    InstancesResult,
    ModelsResult,
    Plan,
    PlanResult,
    SimulateResult,
    TopologyResult,
    WhatIfResult,
)

_GIB = 2.0**30
_MOST_ROWS = 60
Row = Tuple[Any, ...]


class Table:
    """Rows under headers, one of them marked, shown as HTML or as text."""

    def __init__(self, heads: Sequence[str], rows: Iterable[Row], marked: Optional[int] = None, title: str = "") -> None:
        listed = list(rows)
        self.heads, self.marked, self.title = tuple(heads), marked, title
        self.rows = [tuple(map(_cell, row)) for row in listed[:_MOST_ROWS]]
        self.more = len(listed) - len(self.rows)

    def html(self) -> str:
        body: List[str] = []
        for i, row in enumerate(self.rows):
            style = ' style="font-weight: bold"' if i == self.marked else ""
            body.append(f"<tr{style}>" + "".join(f"<td>{escape(v)}</td>" for v in row) + "</tr>")
        if self.more:
            body.append(f'<tr><td colspan="{len(self.heads)}">and {self.more} more</td></tr>')
        head = "".join(f"<th>{escape(h)}</th>" for h in self.heads)
        caption = f"<caption>{escape(self.title)}</caption>" if self.title else ""
        return f'<table class="trnplan">{caption}<thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table>'

    def text(self) -> str:
        """The marked row has a `*` before it."""
        columns = list(zip(self.heads, *self.rows))
        widths = [max(map(len, column)) for column in columns]
        lines = [self.title] if self.title else []
        for i, row in enumerate([self.heads, *self.rows]):
            mark = "* " if self.marked is not None and i == self.marked + 1 else "  "
            lines.append((mark + "  ".join(v.ljust(width) for v, width in zip(row, widths))).rstrip())
        if self.more:
            lines.append(f"  and {self.more} more")
        return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"
    return str(value)


_PLAN = ("strategy", "instance", "nodes", "s a step", "90 % from", "to", "tokens/s", "MFU %", "GiB", "fits %",
         "USD/h")  # fmt: skip


def _plan(p: Plan) -> Row:
    m = p.memory_bytes_per_core
    fits = None if m.fit_probability is None else m.fit_probability * 100
    return (p.strategy, p.strategy.instance, p.strategy.nodes, p.step_seconds, *p.step_seconds_90,
            p.tokens_per_second, p.mfu * 100, m.peak / _GIB, fits, p.usd_per_hour)  # fmt: skip


def _plans(r: PlanResult) -> List[Table]:
    if not r.plans:
        why = r.infeasible
        rules = why.rules if why else []
        return [Table(("rule", "strategies", "message", "fix"),
                      [(x.rule, x.strategies, x.message, x.fix) for x in rules], title="No plan fits")]  # fmt: skip
    return [Table(("rank", *_PLAN), [(p.rank, *_plan(p)) for p in r.plans], r.recommended,
                  f"{len(r.plans)} plans; marked: recommended")]  # fmt: skip


def _simulated(r: SimulateResult) -> List[Table]:
    broken = Table(("rule", "message", "fix"), [(v.rule, v.message, v.fix) for v in r.violations or ()])
    plan = [Table(_PLAN, [_plan(r.plan)])] if r.plan else []
    return plan + ([broken] if r.violations else [])


def _clusters(r: WhatIfResult) -> List[Table]:
    heads = ("instance", "nodes", "strategy", "s a step", "tokens/s", "MFU %", "goodput %", "days", "USD", "why not")
    rows = [
        (p.instance, p.nodes, p.strategy, p.step_seconds, p.tokens_per_second,
         None if p.mfu is None else p.mfu * 100, None if p.goodput is None else p.goodput * 100, p.days, p.usd, p.why)
        for p in r.points
    ]  # fmt: skip
    return [Table(heads, rows, r.recommended, r.reason)]


def _config(r: CheckResult) -> List[Table]:
    heads = ("severity", "rule", "key", "line", "message", "fix")
    rows = [(f.severity, f.rule, f.key, f.line or None, f.message, f.fix) for f in r.findings]
    plan = [Table(_PLAN, [_plan(r.prediction)])] if r.prediction else []
    return [Table(heads, rows, title=r.verdict), *plan]


def _collectives(rows: "Sequence[Collective | CollectiveResult]") -> Table:
    return Table(("op", "ranks", "bytes", "algorithm", "s in a graph", "s of nccom-test", "busbw GB/s"),
                 [(c.op, c.ranks, c.bytes, c.algorithm, c.seconds, c.nccom_seconds, c.busbw_gbps)
                  for c in rows])  # fmt: skip


def _groups(r: TopologyResult) -> Table:
    return Table(("kind", "groups", "ranks", "verdict", "rule"),
                 [(k.kind, k.groups, k.ranks, k.verdict, k.rule) for k in r.kinds],
                 title=f"{r.nodes} x {r.instance}: {r.verdict}")  # fmt: skip


def _fit(r: CalibrateResult) -> Table:
    return Table(("parameter", "unit", "prior", "fitted", "log sd", "verdict"),
                 [(p.name, p.unit, p.prior.median, p.fitted.median, p.fitted.log_sd, p.verdict)
                  for p in r.parameters or ()], title=r.profile or "no fit")  # fmt: skip


def _summary(r: Result) -> Table:
    document = r.to_dict()
    numbers = document.get("summary", document)
    return Table(("", ""), [(k, v) for k, v in numbers.items() if isinstance(v, (int, float, str))])


def of(r: Result) -> List[Table]:
    """Tables that show a result."""
    if isinstance(r, PlanResult):
        return _plans(r)
    if isinstance(r, SimulateResult):
        return _simulated(r)
    if isinstance(r, WhatIfResult):
        return _clusters(r)
    if isinstance(r, CheckResult):
        return _config(r)
    if isinstance(r, CollectiveSweep):
        return [_collectives(r.results)]
    if isinstance(r, CollectiveResult):
        return [_collectives([r])]
    if isinstance(r, TopologyResult):
        return [_groups(r)]
    if isinstance(r, CalibrateResult):
        return [_fit(r)]
    if isinstance(r, ModelsResult):
        return [Table(("model", "parameters", "layers", "hidden"),
                      [(m.name, m.parameters, m.layers, m.hidden) for m in r.models])]  # fmt: skip
    if isinstance(r, InstancesResult):
        return [Table(("instance", "chips", "cores", "NICs"),
                      [(i.name, i.chips, i.cores, i.nics) for i in r.instances])]  # fmt: skip
    return [_summary(r)]


def _tables(r: Result) -> str:
    return "".join(table.html() for table in of(r))


def _page(r: Result) -> Optional[str]:
    page = vars(r).get("_page")
    return page.text() if isinstance(page, pages.Page) else None


def page(r: Result) -> str:
    """A result as an HTML file."""
    made = _page(r)
    return pages.document(f"trnplan {type(r).__name__}", _tables(r)) if made is None else made


def html(r: Result) -> str:
    """A result in a notebook: its page in a frame, or its tables if it has no page."""
    made = _page(r)
    return _tables(r) if made is None else pages.frame(made, _tables(r))


def text(r: Result) -> str:
    """A result in Python's own output."""
    return "\n".join(table.text() for table in of(r))
