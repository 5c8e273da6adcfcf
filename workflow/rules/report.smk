# In:  the study file and results/{study}/tables; for figures of machines their definitions and workloads, for figures
#      of jobs in time the histories of their runs.
# Out: reports/{study}: index.html, and each figure as SVG and PDF.


rule report:
    """Draw the figures of a study and write its page."""
    input:
        study=INPUTS.study_as_written,
        files=INPUTS.named_files,
        plan=PLAN,
        tables=INPUTS.tables_of_study,
        machines=INPUTS.machines_of_study,
        workloads=INPUTS.drawn_workloads,
        histories=INPUTS.drawn_runs,
    output:
        page=report(
            "reports/{study}/index.html",
            caption="../report/page.rst",
            category="{study}",
        ),
        figures=report(
            directory("reports/{study}/figures"),
            patterns=["{figure}.svg"],
            caption="../report/figure.rst",
            category="{study}",
            labels={"figure": "{figure}"},
        ),
    log:
        "logs/{study}/report.log",
    benchmark:
        "benchmarks/{study}/report.jsonl"
    conda:
        "../../envs/fabricstudy.yaml"
    params:
        plan=INPUTS.folder_of("plan"),
        tables=INPUTS.folder_of("tables"),
        out=subpath(output.page, parent=True),
        digest=lambda wildcards: STUDIES[wildcards.study].report.digest,
        machines=INPUTS.folders,
    message:
        "Writing the report of {wildcards.study}"
    shell:
        "python -m fabricstudy.workflow.stages report --study {input.study:q} --plan {params.plan:q}"
        " --tables {params.tables:q} --machines {params.machines:q}"
        " --workloads {input.workloads:q} --drawn {input.histories:q} --out {params.out:q}"
        " > {log:q} 2>&1"
