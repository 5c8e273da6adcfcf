"""RO-Crate metadata of an artifact, in the profile Workflow Run Crate.

The workflow is the Snakefile; the input of its run (a ``CreateAction``) is the study file, the results are its outputs.

References
----------
Soiland-Reyes et al.: Packaging research artefacts with RO-Crate. Data Science 5(2), 2022, doi:10.3233/DS-210053.
Leo et al.: Recording provenance of workflow runs with RO-Crate. PLoS ONE 19(9), 2024,
doi:10.1371/journal.pone.0309210.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import fabricstudy
from fabricstudy.core.checkout import Checkout
from fabricstudy.core.columns import DONE
from fabricstudy.core.phrasing import points_done

from .completed_study import CompletedStudy

if TYPE_CHECKING:
    from rocrate.rocrate import ROCrate

WORKFLOW = "code/Snakefile"
CRATE_METADATA = "ro-crate-metadata.json"

_PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
_WORKFLOW_PROFILE = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"
_LICENSE = "https://spdx.org/licenses/Apache-2.0"
_KINDS = {
    ".csv": "text/csv", ".html": "text/html", ".jsonl": "application/x-ndjson", ".lock": "text/plain",
    ".md": "text/markdown", ".parquet": "application/vnd.apache.parquet", ".pdf": "application/pdf",
    ".svg": "image/svg+xml", ".toml": "application/toml", ".yaml": "application/yaml",
}  # fmt: skip
_OUTPUTS = {
    "tables": "Tidy tables: points, jobs, links, interference, machines, agreement, predictors, claims, analyses.",
    "report": "The page that shows figures, claims and provenance.",
    "figures": "Each figure as SVG and PDF.",
    "records": "One record a simulated point, as the workflow's batches wrote them.",
    "machine": "Links, nodes and routers of each machine, and its parameters.",
    "workload": "Nodes of the ranks of each job, and what it sends.",
    "schedule": "Runs of schedules, one object a run, and the jobs of some.",
}
_DESCRIPTIONS = {
    "README.md": "Instructions to reproduce the study and to compare results",
    "APPENDIX.md": "Draft of the appendix on artifact description and evaluation",
    "Makefile": "The commands: check, reproduce, compare",
    "code/LICENSE": "Licence of the code",
}
_LOCK = "Packages, pinned with hashes"


def metadata(run: CompletedStudy, code: Checkout, contents: Mapping[str, bytes]) -> bytes:
    """Return ``ro-crate-metadata.json``; `contents` are all other files but the checksums, by path."""
    from rocrate.rocrate import ROCrate

    crate, study = ROCrate(), run.plan.study
    crate.name = f"fabricstudy artifact: {study.title or run.name}"
    crate.description = study.description.strip() or f"The study {run.name}, its results and its code."
    crate.datePublished = run.interval[1]
    crate.license = _context(crate, _LICENSE, "CreativeWork", name="Apache License 2.0")
    crate.root_dataset["conformsTo"] = [
        _context(crate, profile, "CreativeWork", name=name, version=edition)
        for profile, (name, edition) in _PROFILES.items()
    ]
    workflow = crate.add_workflow(
        dest_path=WORKFLOW, main=True, lang="snakemake", lang_version=version("snakemake"),
        properties={
            "name": "fabricstudy", "description": "Declarative experiment pipeline for interconnect research.",
            "version": f"{fabricstudy.__version__}, {code.state}", "license": {"@id": _LICENSE},
            "encodingFormat": "text/plain", "conformsTo": {"@id": _WORKFLOW_PROFILE},
        },
    )  # fmt: skip
    state = f"at {code.state}, as in git archive." if code.clean else f"as they were on disk: {code.state}."
    about = {"name": "Code", "description": f"The files of fabricstudy {state}"}
    crate.add_dataset(dest_path="code/", properties=about)
    _run(crate, run, workflow, _files(crate, contents))
    described = crate.metadata.generate()
    for entity in described["@graph"]:
        # RO-Crate requires a list of one to be written as its element.
        entity |= {key: value[0] for key, value in entity.items() if isinstance(value, list) and len(value) == 1}
    return (json.dumps(described, indent=1) + "\n").encode()


def _context(crate: ROCrate, identity: str, kind: str, **properties: Any) -> Any:
    from rocrate.model.contextentity import ContextEntity

    return crate.add(ContextEntity(crate, identity, properties={"@type": kind, **properties}))


def _files(crate: ROCrate, contents: Mapping[str, bytes]) -> dict[str, Any]:
    """Describe each file; of the code only the locks and the licence."""
    files = {}
    for path, content in sorted(contents.items()):
        name = PurePosixPath(path).name
        description = _LOCK if path.endswith(".lock") else _DESCRIPTIONS.get(path)
        if path.startswith("code/") and description is None:
            continue
        kind = _KINDS.get(PurePosixPath(name).suffix, "text/plain")
        properties = {"name": description or name, "encodingFormat": kind}
        if path != "APPENDIX.md":  # a draft, which the authors change
            properties |= {"contentSize": str(len(content)), "sha256": hashlib.sha256(content).hexdigest()}
        files[path] = crate.add_file(dest_path=path, properties=properties)
    files["README.md"]["about"] = crate.root_dataset
    crate.metadata.extra_terms["sha256"] = "https://w3id.org/ro/terms/workflow-run#sha256"
    return files


def _run(crate: ROCrate, run: CompletedStudy, workflow: Any, files: Mapping[str, Any]) -> None:
    name = run.name
    results, report = f"results/{name}", f"reports/{name}"
    inputs = [file for path, file in files.items() if path.startswith("study/")]
    outputs = {"report": files[f"{report}/index.html"]}
    for output, folder, title in (
        ("tables", f"{results}/tables/", "Tables"),
        ("records", f"{results}/simulate/", "Records of the simulations"),
        ("machine", f"{results}/machine/", "Machine definitions"),
        ("workload", f"{results}/workload/", "Workload definitions"),
        ("schedule", f"{results}/schedule/", "Records of the schedules"),
        ("figures", f"{report}/figures/", "Figures"),
    ):
        parts = [{"@id": file.id} for path, file in files.items() if path.startswith(folder)]
        if parts:
            outputs[output] = crate.add_dataset(dest_path=folder, properties={"name": title, "hasPart": parts})
    workflow["input"] = [_parameter(crate, "study", "What to compare.", files[run.study_path])]
    workflow["output"] = [_parameter(crate, key, _OUTPUTS[key], entity) for key, entity in outputs.items()]
    workflow["softwareRequirements"] = [
        _context(crate, f"#engine-{engine}", "SoftwareApplication", name=engine, softwareVersion=", ".join(versions))
        for engine, versions in run.engines.items()
    ]
    begin, end = run.interval
    done, hosts = int((run.points["status"] == DONE).sum()), sorted(run.points["host"].dropna().unique())
    outcome = f"{points_done(done, len(run.points))}, on {', '.join(hosts)}."
    if not run.plan.rows:
        runs = f"{len(run.plan.run_rows)} scheduled runs, " if run.plan.run_rows else ""
        outcome = f"{len(run.outputs.analyses)} analyses, {runs}no simulations."
    action = crate.add_action(
        workflow, identifier="#run", object=inputs, result=list(outputs.values()),
        properties={
            "name": f"Run of the study {name}", "description": outcome, "startTime": begin, "endTime": end,
            "actionStatus": "http://schema.org/CompletedActionStatus",
        },
    )  # fmt: skip
    crate.root_dataset["mentions"] = [action]


def _parameter(crate: ROCrate, name: str, description: str, example: Any) -> Any:
    kind = "File" if "File" in example.type else "Dataset"
    parameter = crate.add_formal_parameter(
        name, kind, identifier=f"#parameter-{name}", description=description, valueRequired=True
    )
    parameter["workExample"] = example
    example["exampleOfWork"] = parameter
    return parameter
