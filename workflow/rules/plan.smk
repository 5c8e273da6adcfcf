# In:  the study file and the files that it names.
# Out: results/{study}/plan.parquet, a row a point: id, labels, machine, workloads, engine, batch and forecast;
#      plan_workloads.parquet and plan_schedules.parquet, a row a workload and a run; workflow.json, the jobs.


rule plan:
    """Expand a study into the table of its points."""
    input:
        study=INPUTS.study,
        files=INPUTS.named_files,
    output:
        expand("results/{{study}}/{file}", file=[*PLAN_FILES, JOBS_FILE]),
    log:
        "logs/{study}/plan.log",
    benchmark:
        "benchmarks/{study}/plan.jsonl"
    localrule: True
    conda:
        "../../envs/fabricstudy.yaml"
    resources:
        batch_cpu_s=str(SETTINGS.batch_cpu_s),
    params:
        out=subpath(output[0], parent=True),
        digest=lambda wildcards: STUDIES[wildcards.study].digest if PLAN_BY_RULE else "",
    message:
        "Planning {wildcards.study}"
    shell:
        "python -m fabricstudy.workflow.stages plan --study {input.study:q} --batch-cpu-s {resources.batch_cpu_s}"
        " --out {params.out:q} > {log:q} 2>&1"
