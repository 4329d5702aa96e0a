"""Every result, by the names of docs/python.md."""

from .learning import (
    CalibrateResult,
    CollectiveValidation,
    GoodputValidation,
    MemoryValidation,
    ScoreResult,
    StepValidation,
    ValidateResult,
)
from .machines import (
    Collective,
    CollectiveResult,
    CollectiveSweep,
    ExplainResult,
    Instance,
    InstancesResult,
    Model,
    ModelsResult,
    SupportResult,
    TopologyResult,
)
from .plans import Plan, RankedPlan, Strategy
from .rankings import CheckResult, PlanResult, SimulateResult
from .runs import WhatIfPoint, WhatIfResult

__all__ = [
    "CalibrateResult", "CheckResult", "Collective", "CollectiveResult", "CollectiveSweep", "CollectiveValidation",
    "ExplainResult", "GoodputValidation", "Instance", "InstancesResult", "MemoryValidation", "Model", "ModelsResult", "Plan",
    "PlanResult", "RankedPlan", "ScoreResult", "SimulateResult", "StepValidation", "Strategy", "SupportResult", "TopologyResult",
    "ValidateResult", "WhatIfPoint", "WhatIfResult",
]  # fmt: skip
