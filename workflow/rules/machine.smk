# In:  results/{study}/plan/machine/{chunk}.json, descriptions of machines by id.
# Out: results/machines, one folder a machine, shared by all studies; results/{study}/machine/{chunk}.txt, their ids.


rule machine:
    """Build the machines of one chunk."""
    input:
        plan=ancient("results/{study}/plan"),
    output:
        "results/{study}/machine/{chunk}.txt",
    log:
        "logs/{study}/machine/{chunk}.log",
    benchmark:
        "benchmarks/{study}/machine/{chunk}.jsonl"
    conda:
        "../../envs/fabricstudy.yaml"
    params:
        digest=lambda wildcards: STUDIES[wildcards.study].machine_digest(
            wildcards.chunk
        ),
        code=source_digest("machine"),
    shell:
        "python -m fabricstudy.machine --machines {input.plan:q}/machine/{wildcards.chunk:q}.json"
        " --results results --out {output:q} > {log:q} 2>&1"
