# In:  the study file.
# Out: results/{study}/plan with machine/{chunk}.json and simulate/{batch}.json.


rule plan:
    """Expand a study into the files of its machine chunks and batches."""
    input:
        study=lambda wildcards: STUDIES[wildcards.study].file,
    output:
        directory("results/{study}/plan"),
    log:
        "logs/{study}/plan.log",
    benchmark:
        "benchmarks/{study}/plan.jsonl"
    conda:
        "../../envs/fabricstudy.yaml"
    params:
        # A file that the study names may change the points without a change of the study.
        digest=lambda wildcards: STUDIES[wildcards.study].digest,
        batch_cpu_s=lambda wildcards: STUDIES[wildcards.study].batch_cpu_s,
    shell:
        "python -m fabricstudy.pipeline --study {input.study:q} --batch-cpu-s {params.batch_cpu_s}"
        " --out {output:q} > {log:q} 2>&1"
