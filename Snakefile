"""Interconnect studies: snakemake --cores N [--config study=NAME|PATH[,...]] (see README.md)."""

from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

from fabricstudy.checkout import checkout
from fabricstudy.errors import StudyError
from fabricstudy.source import code_digest
from fabricstudy.structure.stage import structure_code
from fabricstudy.pipeline import BATCH_CPU_S, pipelines

min_version("9.0")

# Predicted processor seconds of a batch: a minute suits a workstation, ten a cluster.
BATCH_S = float(config.get("batch_cpu_s", BATCH_CPU_S))

try:
    STUDIES = pipelines(
        config.get("study", "quick"), Path(workflow.basedir, "configs"), BATCH_S
    )
except StudyError as error:
    raise WorkflowError(str(error)) from None


wildcard_constraints:
    study="[a-z0-9][a-z0-9-]*",
    chunk="[01]+|all",
    batch="[a-z]+-([01]+|all)",
    analysis="[a-z0-9][a-z0-9-]*",


# Seconds of work each: on a cluster they are done where Snakemake runs.
localrules:
    all,
    machine,
    table,
    report,
    pack,
    artifact,


rule all:
    default_target: True
    input:
        expand("reports/{study}/index.html", study=STUDIES),


rule artifact:
    input:
        expand("artifact/{study}.tar.gz", study=STUDIES),


include: "workflow/rules/machine.smk"
include: "workflow/rules/analyse.smk"
include: "workflow/rules/simulate.smk"
include: "workflow/rules/table.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/artifact.smk"
