# In:  the study file; results/{study}/tables and the records they come from; reports/{study}; our own code.
# Out: artifact/{study}.tar.gz.


rule pack:
    """Pack a study with its results and the code that made them, as the artifact of a paper."""
    input:
        study=lambda wildcards: STUDIES[wildcards.study].file,
        tables="results/{study}/tables",
        page="reports/{study}/index.html",
        points=lambda wildcards: expand(
            "results/{study}/simulate/{batch}.jsonl",
            study=wildcards.study,
            batch=STUDIES[wildcards.study].batches,
        ),
        structures=lambda wildcards: expand(
            "results/{study}/structure/{chunk}.jsonl",
            study=wildcards.study,
            chunk=STUDIES[wildcards.study].machine_chunks,
        ),
        analyses=lambda wildcards: expand(
            "results/{study}/analysis/{analysis}.jsonl",
            study=wildcards.study,
            analysis=STUDIES[wildcards.study].analyses,
        ),
        schedules=lambda wildcards: expand(
            "results/{study}/schedule/{runs}.jsonl",
            study=wildcards.study,
            runs=STUDIES[wildcards.study].run_chunks,
        ),
    output:
        "artifact/{study}.tar.gz",
    log:
        "logs/{study}/artifact.log",
    benchmark:
        "benchmarks/{study}/artifact.jsonl"
    conda:
        "../../envs/fabricstudy.yaml"
    params:
        # The code is packed, too: a commit or a change of a file makes the archive anew.
        code=lambda wildcards: checkout().state,
        # So are the study's own files, words and all.
        extensions=lambda wildcards: STUDIES[
            wildcards.study
        ].plan.study.extension_package,
    shell:
        "python -m fabricstudy.artifact pack --study {input.study:q} --shards {input.points:q}"
        " --structures {input.structures:q}"
        " --analyses {input.analyses:q} --schedules {input.schedules:q} --out {output:q} > {log:q} 2>&1"
