# In:  records of points, structures, tables of analyses, and records of schedules, all in results/{study}.
# Out: results/{study}/tables/{table}.parquet and .csv; analysis-{analysis} is a table of its own rule.


rule analysis:
    """Compute the table of one named analysis."""
    input:
        study=INPUTS.study,
        files=INPUTS.named_files,
    output:
        multiext(
            "results/{study}/tables/analysis-{analysis}", table=".parquet", text=".csv"
        ),
    log:
        "logs/{study}/analysis/{analysis}.log",
    benchmark:
        "benchmarks/{study}/analysis/{analysis}.jsonl"
    conda:
        "../../envs/fabricstudy.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=lambda wildcards, attempt: 60 * attempt,
    params:
        digest=lambda wildcards: STUDIES[wildcards.study].analyses[wildcards.analysis],
    message:
        "Computing the analysis {wildcards.analysis} of {wildcards.study}"
    shell:
        "python -m fabricstudy.workflow.stages analysis --study {input.study:q} --name {wildcards.analysis}"
        " --out {output.table:q} > {log:q} 2>&1"


rule table:
    """Collect the records of a study into tidy tables and measure its claims."""
    input:
        study=INPUTS.study_as_written,
        files=INPUTS.named_files,
        plan=PLAN,
        points=INPUTS.every("simulate", ".jsonl"),
        links=INPUTS.every("simulate", ".links.parquet"),
        structures=INPUTS.every("structure", ".jsonl"),
        analyses=INPUTS.analyses,
        schedules=INPUTS.every("schedule", ".jsonl"),
        scheduled_jobs=INPUTS.every("schedule", ".parquet"),
    output:
        expand("results/{{study}}/tables/{table}.parquet", table=TABLES),
        expand(
            "results/{{study}}/tables/{table}.csv",
            table=[name for name in TABLES if name not in PARQUET_ONLY],
        ),
    log:
        "logs/{study}/table.log",
    benchmark:
        "benchmarks/{study}/table.jsonl"
    conda:
        "../../envs/fabricstudy.yaml"
    params:
        plan=INPUTS.folder_of("plan"),
        out=subpath(output[0], parent=True),
        digest=lambda wildcards: STUDIES[wildcards.study].table,
    message:
        "Collecting the tables of {wildcards.study}"
    shell:
        "python -m fabricstudy.workflow.stages table --study {input.study:q} --plan {params.plan:q}"
        " --points {input.points:q} --link-loads {input.links:q} --structures {input.structures:q}"
        " --analyses {input.analyses:q} --schedules {input.schedules:q} --out {params.out:q}"
        " > {log:q} 2>&1"
