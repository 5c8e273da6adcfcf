# In:  the study file.
# Out: results/machines, one folder a machine, shared by all studies; results/{study}/machine/{chunk}.txt, their ids.


rule machine:
    """Build the machines of one chunk."""
    input:
        # What counts of the study is in the digest; its figures and claims change no machine.
        study=lambda wildcards: ancient(STUDIES[wildcards.study].file),
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
    shell:
        "python -m fabricstudy.stages machine --study {input.study:q} --name {wildcards.chunk}"
        " --digest {params.digest} --results results --out {output:q} > {log:q} 2>&1"
