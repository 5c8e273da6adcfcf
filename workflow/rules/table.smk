# In:  results/{study}/simulate/*.jsonl, results/{study}/structure/*.jsonl, results/{study}/analysis/*.jsonl and
#      results/{study}/schedule/*.
# Out: results/{study}/tables/*.parquet and *.csv.


rule table:
    """Collect the records of a study into tidy tables and measure its claims."""
    input:
        study=lambda wildcards: STUDIES[wildcards.study].file,
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
        tables=directory("results/{study}/tables"),
        # Their names; taken away where one is gone; see fabricstudy.workflow.snakefile.
        stored="results/{study}/tables.stored",
    log:
        "logs/{study}/table.log",
    benchmark:
        "benchmarks/{study}/table.jsonl"
    conda:
        "../../envs/fabricstudy.yaml"
    params:
        code=code_digest("fabricstudy.table.__main__"),
    shell:
        "python -m fabricstudy.table --study {input.study:q} --shards {input.points:q}"
        " --structures {input.structures:q} --analyses {input.analyses:q} --schedules {input.schedules:q}"
        " --results results --out {output.tables:q} > {log:q} 2>&1"
        " && ls {output.tables:q} > {output.stored:q}"
