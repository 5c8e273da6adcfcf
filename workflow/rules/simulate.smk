# In:  the study file; machines and structures of the batch.
# Out: results/points, one folder a point, shared by all studies; results/{study}/simulate/{batch}.jsonl, its records.


rule simulate:
    """Simulate the points of one batch that the store does not have yet."""
    input:
        # What counts of the study is in the digest; its figures and claims change no point.
        study=lambda wildcards: ancient(STUDIES[wildcards.study].file),
        structures=lambda wildcards: expand(
            "results/{study}/structure/{chunk}.jsonl",
            study=wildcards.study,
            chunk=STUDIES[wildcards.study].machine_chunks_of(wildcards.batch),
        ),
    output:
        records="results/{study}/simulate/{batch}.jsonl",
        # Taken away where the store has lost a point; see fabricstudy.workflow.snakefile.
        stored=touch("results/{study}/simulate/{batch}.stored"),
    log:
        "logs/{study}/simulate/{batch}.log",
    benchmark:
        "benchmarks/{study}/simulate/{batch}.jsonl"
    conda:
        "../../envs/fabricstudy.yaml"
    container:
        SETTINGS.container
    # A site's own simulators: with --sdm env-modules or --sdm apptainer.
    envmodules:
        *SETTINGS.envmodules,
    # Snakemake grants no more than its --cores; a cluster is asked for that many of one computer.
    threads: lambda wildcards: STUDIES[wildcards.study].batches[wildcards.batch].processes
    resources:
        mem_mb=lambda wildcards, attempt: STUDIES[wildcards.study]
        .batches[wildcards.batch]
        .memory_MB(attempt),
        runtime=lambda wildcards, attempt: STUDIES[wildcards.study]
        .batches[wildcards.batch]
        .time_min(attempt),
    params:
        digest=lambda wildcards: STUDIES[wildcards.study]
        .batches[wildcards.batch]
        .digest,
        batch_cpu_s=SETTINGS.batch_cpu_s,
        # Points of an engine that was missing, or that other code simulated, are done again.
        engine=lambda wildcards: STUDIES[wildcards.study].engine_state(wildcards.batch),
    shell:
        "python -m fabricstudy.workflow.stages simulate --study {input.study:q} --batch-cpu-s {params.batch_cpu_s}"
        " --name {wildcards.batch} --digest {params.digest} --cores {threads}"
        " --results results --out {output.records:q} > {log:q} 2>&1"
