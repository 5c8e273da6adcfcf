# In:  results/{study}/plan/simulate/{batch}.json; machines and structures of the batch.
# Out: results/points, one folder a point, shared by all studies; results/{study}/simulate/{batch}.jsonl, its records.


rule simulate:
    """Simulate the points of one batch that the store does not have yet."""
    input:
        plan=ancient("results/{study}/plan"),
        structures=lambda wildcards: expand(
            "results/{study}/analyse/{chunk}.jsonl",
            study=wildcards.study,
            chunk=STUDIES[wildcards.study].machine_chunks_of(wildcards.batch),
        ),
    output:
        "results/{study}/simulate/{batch}.jsonl",
    log:
        "logs/{study}/simulate/{batch}.log",
    benchmark:
        "benchmarks/{study}/simulate/{batch}.jsonl"
    conda:
        "../../envs/fabricstudy.yaml"
    params:
        digest=lambda wildcards: STUDIES[wildcards.study]
        .batches[wildcards.batch]
        .digest,
        # Points of an engine that was missing, or that other code simulated, are done again.
        engine=lambda wildcards: STUDIES[wildcards.study].engine_state(wildcards.batch),
    shell:
        "python -m fabricstudy.engine --batch {input.plan:q}/simulate/{wildcards.batch:q}.json"
        " --results results --out {output:q} > {log:q} 2>&1"
