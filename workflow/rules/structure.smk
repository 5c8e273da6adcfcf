# In:  the study file.
# Out: results/machines and results/structures, one folder a machine, shared by all studies;
#      results/{study}/structure/{chunk}.jsonl, their records;
#      results/{study}/analysis/{analysis}.jsonl, the rows of a named analysis.


rule structure:
    """Build the machines of one chunk, and find structure and bisection of each."""
    input:
        # What counts of the study is in the digest; its figures and claims change no machine.
        study=lambda wildcards: ancient(STUDIES[wildcards.study].file),
    output:
        records="results/{study}/structure/{chunk}.jsonl",
        # Taken away where a store has lost a machine or structure; see fabricstudy.workflow.snakefile.
        stored=touch("results/{study}/structure/{chunk}.stored"),
    log:
        "logs/{study}/structure/{chunk}.log",
    benchmark:
        "benchmarks/{study}/structure/{chunk}.jsonl"
    conda:
        "../../envs/fabricstudy.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=lambda wildcards, attempt: 60 * attempt,
    params:
        digest=lambda wildcards: STUDIES[wildcards.study].machine_digest(
            wildcards.chunk
        ),
        code=structure_code(),
    shell:
        "python -m fabricstudy.workflow.stages structure --study {input.study:q} --name {wildcards.chunk}"
        " --digest {params.digest} --results results --out {output.records:q} > {log:q} 2>&1"


rule analysis:
    """Compute the rows of one named analysis."""
    input:
        # What counts of the study is in the digest; its figures and claims change no analysis.
        study=lambda wildcards: ancient(STUDIES[wildcards.study].file),
    output:
        "results/{study}/analysis/{analysis}.jsonl",
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
        digest=lambda wildcards: STUDIES[wildcards.study].analysis_digest(
            wildcards.analysis
        ),
    shell:
        "python -m fabricstudy.workflow.stages analysis --study {input.study:q}"
        " --name {wildcards.analysis} --digest {params.digest} --results results --out {output:q} > {log:q} 2>&1"
