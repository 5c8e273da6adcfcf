"""Interconnect studies: snakemake --cores N [--config study=NAME|PATH[,...]] (see README.md)."""

import sys
import time
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

min_version("9.0")

try:
    from fabricstudy.errors import StudyError
except ImportError:
    raise WorkflowError(
        f"fabricstudy is not installed for {sys.executable}; run `make setup` in the clone and its .venv/bin/snakemake"
    ) from None

from fabricstudy import workflow as ours
from fabricstudy.checkout import checkout
from fabricstudy.home import use_own_programs
from fabricstudy.pipeline import pipelines
from fabricstudy.source import code_digest
from fabricstudy.structure.stage import structure_code

STARTED_S = time.time()

use_own_programs()

try:
    ours.check_cores(workflow.resource_settings.cores)
    SETTINGS = ours.settings(config)
    STUDIES = pipelines(SETTINGS.study, batch_cpu_s=SETTINGS.batch_cpu_s)
    for study in STUDIES.values():
        # The clocks of other nodes are none of our business.
        made = ours.products(study) if workflow.is_main_process else ()
        ours.check_dates(study.file, made)
except StudyError as error:
    raise WorkflowError(str(error)) from None

# Jobs on other nodes read this file, too; only the call that plans may say what is made again.
if workflow.is_main_process:
    for study in STUDIES.values():
        ours.forget_what_is_gone(study, Path("results"))


wildcard_constraints:
    **ours.WILDCARDS,


onsuccess:
    for line in ours.last_words(STUDIES, Path("results"), STARTED_S):
        print(line, file=sys.stderr)


onerror:
    print(
        "What is finished is kept; the same command goes on with the rest.",
        file=sys.stderr,
    )


# Seconds of work each: on a cluster they are done where Snakemake runs.
localrules:
    all,
    table,
    report,
    pack,
    artifact,


rule all:
    default_target: True
    input:
        [path for study in STUDIES.values() for path in ours.products(study)],


rule artifact:
    input:
        expand("artifact/{study}.tar.gz", study=STUDIES),


include: "workflow/rules/structure.smk"
include: "workflow/rules/simulate.smk"
include: "workflow/rules/schedule.smk"
include: "workflow/rules/table.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/artifact.smk"
