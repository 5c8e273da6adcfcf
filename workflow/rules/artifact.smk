# In:  everything that the other rules made of a study, and our own code.
# Out: artifact/{study}.tar.gz.


rule pack:
    """Pack a study with its results and the code that made them, as the artifact of a paper."""
    input:
        study=INPUTS.study_as_written,
        files=INPUTS.named_files,
        plan=PLAN,
        tables=INPUTS.tables_of_study,
        machines=INPUTS.machines_of_study,
        page="reports/{study}/index.html",
        figures="reports/{study}/figures",
        points=INPUTS.every("simulate", ".jsonl"),
        structures=INPUTS.every("structure", ".jsonl"),
        workloads=INPUTS.every("workload", ".parquet"),
        analyses=INPUTS.analyses,
        schedules=INPUTS.every("schedule", ".jsonl"),
        scheduled_jobs=INPUTS.every("schedule", ".parquet"),
        histories=INPUTS.every("schedule", ".history.parquet"),
        benchmarks=INPUTS.benchmarks,
    output:
        "artifact/{study}.tar.gz",
    log:
        "logs/{study}/artifact.log",
    benchmark:
        "benchmarks/{study}/artifact.jsonl"
    conda:
        "../../envs/fabricstudy.yaml"
    params:
        plan=INPUTS.folder_of("plan"),
        # The code is packed, too: a commit or a change of a file makes the archive again.
        code=lambda wildcards: checkout().state,
        # So are the study's own files, words and all.
        extensions=lambda wildcards: STUDIES[wildcards.study].extensions,
    message:
        "Packing {wildcards.study}"
    shell:
        "python -m fabricstudy.artifact pack --study {input.study:q} --plan {params.plan:q} --shards {input.points:q}"
        " --structures {input.structures:q} --analyses {input.analyses:q} --schedules {input.schedules:q}"
        " --out {output:q} > {log:q} 2>&1"
