# In:  results/{study}/machine/{chunk}.txt and the machines it names.
# Out: results/structures, one folder a machine, shared by all studies; results/{study}/analyse/{chunk}.jsonl;
#      results/{study}/analyses/{analysis}.jsonl, the rows of a named analysis, from the study alone.


rule analyse:
    """Find structure and bisection of the machines of one chunk."""
    input:
        "results/{study}/machine/{chunk}.txt",
    output:
        records="results/{study}/analyse/{chunk}.jsonl",
        # Taken away where the store has lost a structure; see fabricstudy.workflow.
        stored=touch("results/{study}/analyse/{chunk}.stored"),
    log:
        "logs/{study}/analyse/{chunk}.log",
    benchmark:
        "benchmarks/{study}/analyse/{chunk}.jsonl"
    conda:
        "../../envs/fabricstudy.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=lambda wildcards, attempt: 60 * attempt,
    params:
        code=structure_code(),
    shell:
        "python -m fabricstudy.stages analyse --machines {input:q} --results results --out {output.records:q} > {log:q} 2>&1"


rule analysis:
    """Compute the rows of one named analysis."""
    input:
        # What counts of the study is in the digest; its figures and claims change no analysis.
        study=lambda wildcards: ancient(STUDIES[wildcards.study].file),
    output:
        "results/{study}/analyses/{analysis}.jsonl",
    log:
        "logs/{study}/analyses/{analysis}.log",
    benchmark:
        "benchmarks/{study}/analyses/{analysis}.jsonl"
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
        "python -m fabricstudy.stages analysis --study {input.study:q}"
        " --name {wildcards.analysis} --digest {params.digest} --results results --out {output:q} > {log:q} 2>&1"
