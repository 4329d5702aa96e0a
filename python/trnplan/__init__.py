"""trnplan: which parallelism trains a model fastest on a cluster, whether it fits, what it costs, and how sure that is.

>>> import trnplan
>>> found = trnplan.plan("llama3-8b", nodes=4)
>>> found.best.strategy, found.best.step_seconds

Every function is a command of the program and gives what that prints with ``--format json``: as attributes, as a dict
(``to_dict()``), and where it is a table as a DataFrame (``to_dataframe()``, which needs pandas). Units stand in the names:
seconds, bytes, USD. Calls share nothing, and threads may call at once.
"""

from ._native import version as __version__
from .commands import (
    calibrate,
    catalogue,
    check,
    collective,
    explain,
    instances,
    models,
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
    ExplainResult,
    GoodputValidation,
    Instance,
    InstancesResult,
    MemoryValidation,
    Model,
    ModelsResult,
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
    "ExplainResult", "Fault", "GoodputValidation", "InputError", "Instance", "InstancesResult", "MemoryValidation", "MissingPackage",
    "Model", "ModelsResult", "Plan", "PlanResult", "RankedPlan", "ScoreResult", "SimulateResult", "StepValidation",
    "Strategy", "SupportResult", "TopologyResult", "ValidateResult", "WhatIfPoint", "WhatIfResult", "__version__", "calibrate",
    "catalogue", "check", "collective", "explain", "instances", "models", "plan", "simulate", "support", "topology", "validate", "whatif",
]  # fmt: skip
