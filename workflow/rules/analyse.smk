# In:  results/{study}/machine/{chunk}.txt and the machines it names.
# Out: results/structures, one folder a machine, shared by all studies; results/{study}/analyse/{chunk}.jsonl.


rule analyse:
    """Find structure and bisection of the machines of one chunk."""
    input:
        "results/{study}/machine/{chunk}.txt",
    output:
        "results/{study}/analyse/{chunk}.jsonl",
    log:
        "logs/{study}/analyse/{chunk}.log",
    benchmark:
        "benchmarks/{study}/analyse/{chunk}.jsonl"
    conda:
        "../../envs/fabricstudy.yaml"
    params:
        code=source_digest("machine", "analyse"),
    shell:
        "python -m fabricstudy.jobs analyse --machines {input:q} --results results --out {output:q} > {log:q} 2>&1"
