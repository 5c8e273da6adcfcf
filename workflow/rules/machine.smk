# In:  results/{study}/plan.parquet.
# Out: results/{study}/machine/{chunk}, definitions of some machines: links, nodes, routers (Parquet), parameters (JSON);
#      results/{study}/structure/{chunk}.jsonl, sizes, distances and bisection of each machine.


rule machine:
    """Build some machines and write their definitions."""
    input:
        study=INPUTS.study,
        files=INPUTS.named_files,
        plan=PLAN,
    output:
        expand("results/{{study}}/machine/{{chunk}}/{file}", file=MACHINE_FILES),
    log:
        "logs/{study}/machine/{chunk}.log",
    benchmark:
        "benchmarks/{study}/machine/{chunk}.jsonl"
    conda:
        "../../envs/fabricstudy.yaml"
    resources:
        number=INPUTS.number("machine", "chunk"),
        parts=INPUTS.count("machine"),
    params:
        plan=INPUTS.folder_of("plan"),
        out=subpath(output[0], parent=True),
        machines=lambda wildcards: STUDIES[wildcards.study]
        .machines[wildcards.chunk]
        .machines,
        digest=lambda wildcards: STUDIES[wildcards.study]
        .machines[wildcards.chunk]
        .digest,
    message:
        "Building machines of {wildcards.study}: part {resources.number} of {resources.parts}"
    shell:
        "python -m fabricstudy.workflow.stages machine --study {input.study:q} --plan {params.plan:q}"
        " --ids {params.machines} --out {params.out:q} > {log:q} 2>&1"


rule structure:
    """Find distances and bisection of some machines."""
    input:
        study=INPUTS.study,
        files=INPUTS.named_files,
        plan=PLAN,
        machines=expand(
            "results/{{study}}/machine/{{chunk}}/{file}", file=MACHINE_FILES
        ),
    output:
        "results/{study}/structure/{chunk}.jsonl",
    log:
        "logs/{study}/structure/{chunk}.log",
    benchmark:
        "benchmarks/{study}/structure/{chunk}.jsonl"
    conda:
        "../../envs/fabricstudy.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=lambda wildcards, attempt: 60 * attempt,
        number=INPUTS.number("structure", "chunk"),
        parts=INPUTS.count("structure"),
    params:
        plan=INPUTS.folder_of("plan"),
        folders=INPUTS.folders,
        machines=lambda wildcards: STUDIES[wildcards.study]
        .machines[wildcards.chunk]
        .machines,
        digest=lambda wildcards: STUDIES[wildcards.study]
        .machines[wildcards.chunk]
        .structure,
    message:
        "Finding the bisection of machines of {wildcards.study}: part {resources.number} of {resources.parts}"
    shell:
        "python -m fabricstudy.workflow.stages structure --study {input.study:q} --plan {params.plan:q}"
        " --machines {params.folders:q} --ids {params.machines} --results results"
        " --out {output:q} > {log:q} 2>&1"
