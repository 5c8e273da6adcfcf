# In:  results/{study}/plan.parquet; machine definitions, structures and workloads of the batch.
# Out: results/{study}/simulate/{batch}.jsonl, a record a point; {batch}.links.parquet, a row a link of the points whose
#      links the study asks for. Cached in results/points, one folder a point, shared by all studies.


rule simulate:
    """Simulate the points of one batch that are not cached yet."""
    input:
        # The digest covers the parts of the study, the plan and the definitions that affect the result.
        study=INPUTS.study,
        files=INPUTS.named_files,
        plan=PLAN,
        machines=INPUTS.machines_of,
        structures=INPUTS.structures_of,
        workloads=INPUTS.workloads_of_batch,
        needed=INPUTS.needed_points,
    output:
        records="results/{study}/simulate/{batch}.jsonl",
        links="results/{study}/simulate/{batch}.links.parquet",
    log:
        "logs/{study}/simulate/{batch}.log",
    benchmark:
        "benchmarks/{study}/simulate/{batch}.jsonl"
    # The largest first, so that all cores are busy until the end.
    priority: lambda wildcards: STUDIES[wildcards.study].batches[wildcards.batch].priority
    conda:
        "../../envs/fabricstudy.yaml"
    container:
        SETTINGS.container
    # A site's own simulators: with --sdm env-modules or --sdm apptainer.
    envmodules:
        *SETTINGS.envmodules,
    # Snakemake grants no more than its --cores; a cluster is asked for that many of one computer.
    threads: lambda wildcards: STUDIES[wildcards.study].batches[wildcards.batch].processes
    resources:
        mem_mb=lambda wildcards, attempt: STUDIES[wildcards.study]
        .batches[wildcards.batch]
        .memory_MB(attempt),
        runtime=lambda wildcards, attempt: STUDIES[wildcards.study]
        .batches[wildcards.batch]
        .time_min
        * attempt,
        number=INPUTS.number("simulate", "batch"),
        parts=INPUTS.count("simulate"),
    params:
        engine=lambda wildcards: STUDIES[wildcards.study]
        .batches[wildcards.batch]
        .engine,
        plan=INPUTS.folder_of("plan"),
        machines=INPUTS.folders,
        # Points of an engine that was missing, or that other code simulated, are done again.
        digest=lambda wildcards: STUDIES[wildcards.study]
        .batches[wildcards.batch]
        .digest,
    message:
        "Simulating {wildcards.study} on {params.engine}: batch {resources.number} of {resources.parts}"
    shell:
        "python -m fabricstudy.workflow.stages simulate --study {input.study:q} --plan {params.plan:q}"
        " --machines {params.machines:q} --structures {input.structures:q}"
        " --workloads {input.workloads:q} --name {wildcards.batch} --cores {threads} --results results"
        " --needed {input.needed:q}"
        " --links {output.links:q} --out {output.records:q} > {log:q} 2>&1"


rule needed:
    """Find the points of the second stage that a precision or decision needs."""
    input:
        study=INPUTS.study_as_written,
        files=INPUTS.named_files,
        plan=PLAN,
        structures=INPUTS.every("structure", ".jsonl"),
        records=INPUTS.first_stage,
        # Claims may compare points with rows of analyses.
        analyses=INPUTS.analyses,
    output:
        "results/{study}/needed.json",
    log:
        "logs/{study}/needed.log",
    benchmark:
        "benchmarks/{study}/needed.jsonl"
    conda:
        "../../envs/fabricstudy.yaml"
    params:
        plan=INPUTS.folder_of("plan"),
        digest=lambda wildcards: STUDIES[wildcards.study].table,
    message:
        "Finding the seeds that {wildcards.study} needs"
    shell:
        "python -m fabricstudy.workflow.stages needed --study {input.study:q} --plan {params.plan:q}"
        " --structures {input.structures:q} --points {input.records:q} --analyses {input.analyses:q}"
        " --out {output:q} > {log:q} 2>&1"
