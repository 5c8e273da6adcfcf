"""Interconnect studies: snakemake --cores N [TARGET] [--config study=NAME|PATH[,...]] (see README.md).

Targets: machines, workloads, simulations, tables, reports (default), artifact.

Each rule reads the declared outputs of the rules before it. Points, machines and workloads are processed in
chunks, because a study may have 100,000 points. results/points and results/structures are caches: without them, jobs
only take longer. The dependencies of a job that are not files (points, code, programs) are a digest in its params.
"""

import sys
import time
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

min_version("9.27")

try:
    from fabricstudy.core.errors import ConfigError, FabricstudyError
except ImportError:
    raise WorkflowError(
        f"fabricstudy is not installed for {sys.executable}; run `make setup` in the clone and its .venv/bin/snakemake"
    ) from None

from fabricstudy.core.checkout import checkout
from fabricstudy.core.columns import PARQUET_ONLY, TABLES
from fabricstudy.core.bundled_files import import_from_clone, set_environment
from fabricstudy.machine.definitions import MACHINE_FILES
from fabricstudy.study.plan_file import PLAN_FILES
from fabricstudy.workflow.jobs import FILE as JOBS_FILE, load_studies, renew_plans
from fabricstudy.workflow.snakefile import (
    WILDCARDS,
    Inputs,
    cancel_timers,
    check_cores,
    check_points,
    check_timestamps,
    check_triggers,
    lock_studies,
    settings,
    summary_lines,
)

STARTED_S = time.time()

set_environment()
if any(one.name == "CONDA" for one in workflow.deployment_settings.deployment_method):
    import_from_clone()

try:
    check_cores(workflow.resource_settings.cores)
    SETTINGS = settings(config)
    # A job on another node reads the Snakefile again, and takes its jobs from the plan that is there.
    STUDIES = load_studies(
        SETTINGS.study,
        SETTINGS.batch_cpu_s,
        results=None if workflow.is_main_process else Path("results"),
    )
    if workflow.is_main_process:
        check_timestamps(STUDIES)
except ConfigError as error:
    raise WorkflowError(str(error)) from None

# One job does all stages of small studies, unless simulations need modules or an image.
SMALL = not (SETTINGS.container or SETTINGS.envmodules) and all(
    jobs.is_small(SETTINGS.small_cpu_s) for jobs in STUDIES.values()
)
INPUTS = Inputs(STUDIES, SMALL)

# Snakemake compares no digests below a job that is to run, not even of jobs that take its output as ancient. A plan that
# has changed is therefore rewritten when a run starts, and keeps its date: the digests of the other rules decide which jobs
# run. In a module, where Snakemake ignores `onstart`, the rule `plan` runs, and all others after it, from the caches.
# Snakemake documents no other way to ask for this: with `plan` as a rule in both cases, a new title would repeat all jobs.
PLAN_BY_RULE = not workflow.modifier.is_main_snakefile()
PLAN = [f"results/{{study}}/{file}" for file in PLAN_FILES]


wildcard_constraints:
    **WILDCARDS,


onstart:
    try:
        check_triggers(workflow.rerun_triggers)
        LOCKS = lock_studies(STUDIES)
    except FabricstudyError as error:
        raise WorkflowError(str(error)) from None
    if not SMALL:
        renew_plans(STUDIES, SETTINGS.batch_cpu_s, Path("results"))


onsuccess:
    cancel_timers()
    for line in summary_lines(STUDIES, STARTED_S):
        print(line, file=sys.stderr)
    try:
        check_points(STUDIES)
    except FabricstudyError as error:
        raise WorkflowError(str(error)) from None


onerror:
    cancel_timers()
    print(
        "Finished simulations are cached; the same command continues with the rest.",
        file=sys.stderr,
    )


# On a cluster these, and the rule `plan`, are done where Snakemake runs.
localrules:
    all,
    machines,
    workloads,
    simulations,
    tables,
    reports,
    artifact,


rule all:
    default_target: True
    input:
        [path for study in STUDIES for path in INPUTS.reports(study)],


if SMALL:

    include: "workflow/rules/small.smk"

else:

    include: "workflow/rules/plan.smk"
    include: "workflow/rules/machine.smk"
    include: "workflow/rules/workload.smk"
    include: "workflow/rules/simulate.smk"
    include: "workflow/rules/schedule.smk"
    include: "workflow/rules/table.smk"
    include: "workflow/rules/report.smk"


include: "workflow/rules/artifact.smk"
include: "workflow/rules/targets.smk"
