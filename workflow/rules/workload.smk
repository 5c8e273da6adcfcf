# In:  results/{study}/plan.parquet; machine definitions; structures, for patterns that follow the best cut.
# Out: results/{study}/workload/{placed}.parquet, a row a job in its place: nodes, node of each rank, messages, bytes.


rule workload:
    """Allocate nodes to jobs, map their ranks, and count what they send."""
    input:
        study=INPUTS.study,
        files=INPUTS.named_files,
        plan=PLAN,
        machines=INPUTS.machines_of,
        structures=INPUTS.structures_of,
    output:
        "results/{study}/workload/{placed}.parquet",
    log:
        "logs/{study}/workload/{placed}.log",
    benchmark:
        "benchmarks/{study}/workload/{placed}.jsonl"
    conda:
        "../../envs/fabricstudy.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime=lambda wildcards, attempt: 60 * attempt,
        number=INPUTS.number("workload", "placed"),
        parts=INPUTS.count("workload"),
    params:
        plan=INPUTS.folder_of("plan"),
        machines=INPUTS.folders,
        digest=lambda wildcards: STUDIES[wildcards.study]
        .workloads[wildcards.placed]
        .digest,
    message:
        "Placing jobs of {wildcards.study}: part {resources.number} of {resources.parts}"
    shell:
        "python -m fabricstudy.workflow.stages workload --study {input.study:q} --plan {params.plan:q}"
        " --machines {params.machines:q} --structures {input.structures:q} --name {wildcards.placed}"
        " --out {output:q} > {log:q} 2>&1"
