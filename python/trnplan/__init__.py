"""trnplan: the fastest parallelism to train a model on a cluster, its memory, its cost, and the probabilities of both.

>>> import trnplan
>>> found = trnplan.plan("llama3-8b", nodes=4)
>>> found.best.strategy, found.best.step_seconds

Every function is a command of the program and returns the content of its ``--format json``: as attributes, as a dict
(``to_dict()``) and, for tables, as a DataFrame (``to_dataframe()``, which needs pandas). Names contain the units: seconds,
bytes, USD. Calls share no state, so threads may call concurrently.
"""

from ._native import version as __version__
from .commands import (
    calibrate,
    catalogue,
    check,
    collective,
    compare,
    explain,
    instances,
    models,
    offerings,
    plan,
    simulate,
    support,
    topology,
    validate,
    whatif,
)
from .errors import Fault, InputError, MissingPackage
from .results import (
    CalibrateResult,
    CheckResult,
    Collective,
    CollectiveResult,
    CollectiveSweep,
    CollectiveValidation,
    CompareResult,
    ExplainResult,
    GoodputValidation,
    Instance,
    InstancesResult,
    MemoryValidation,
    Model,
    ModelsResult,
    OfferingsResult,
    Plan,
    PlanResult,
    RankedPlan,
    ScoreResult,
    SimulateResult,
    StepValidation,
    Strategy,
    SupportResult,
    TopologyResult,
    ValidateResult,
    WhatIfPoint,
    WhatIfResult,
)

__all__ = [
    "CalibrateResult", "CheckResult", "Collective", "CollectiveResult", "CollectiveSweep", "CollectiveValidation",
    "CompareResult", "ExplainResult", "Fault", "GoodputValidation", "InputError", "Instance", "InstancesResult", "MemoryValidation",
    "MissingPackage", "Model", "ModelsResult", "OfferingsResult", "Plan", "PlanResult", "RankedPlan", "ScoreResult", "SimulateResult", "StepValidation",
    "Strategy", "SupportResult", "TopologyResult", "ValidateResult", "WhatIfPoint", "WhatIfResult", "__version__", "calibrate",
    "catalogue", "check", "collective", "compare", "explain", "instances", "models", "offerings", "plan", "simulate", "support",
    "topology", "validate", "whatif",
]  # fmt: skip
