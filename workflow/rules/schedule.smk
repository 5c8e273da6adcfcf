# In:  results/{study}/plan_schedules.parquet; records of the batches that hold the points whose times slow jobs down.
# Out: results/{study}/schedule/{runs}.jsonl, the records of some runs of a schedule; {runs}.parquet, their jobs;
#      {runs}.history.parquet, when and where jobs ran, of the runs that figures draw.


rule schedule:
    """Do some runs of a schedule: when and where each job of a trace runs."""
    input:
        study=INPUTS.study,
        files=INPUTS.named_files,
        plan=PLAN,
        points=INPUTS.points_of_runs,
    output:
        records="results/{study}/schedule/{runs}.jsonl",
        jobs="results/{study}/schedule/{runs}.parquet",
        histories="results/{study}/schedule/{runs}.history.parquet",
    log:
        "logs/{study}/schedule/{runs}.log",
    benchmark:
        "benchmarks/{study}/schedule/{runs}.jsonl"
    conda:
        "../../envs/fabricstudy.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=lambda wildcards, attempt: 60 * attempt,
        number=INPUTS.number("schedule", "runs"),
        parts=INPUTS.count("schedule"),
    params:
        plan=INPUTS.folder_of("plan"),
        digest=lambda wildcards: STUDIES[wildcards.study]
        .schedules[wildcards.runs]
        .digest,
        batch_cpu_s=SETTINGS.batch_cpu_s,
    message:
        "Scheduling {wildcards.study}: part {resources.number} of {resources.parts}"
    shell:
        "python -m fabricstudy.workflow.stages schedule --study {input.study:q} --plan {params.plan:q}"
        " --batch-cpu-s {params.batch_cpu_s} --name {wildcards.runs} --points {input.points:q}"
        " --jobs {output.jobs:q} --histories {output.histories:q} --out {output.records:q} > {log:q} 2>&1"
