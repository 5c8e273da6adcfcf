# In:  the study file and results/{study}/tables.
# Out: reports/{study}: index.html, and each figure as SVG and PDF.


rule report:
    """Draw the figures of a study and write its page."""
    input:
        study=INPUTS.study_as_written,
        plan="results/{study}/plan.parquet",
        tables=INPUTS.tables_of_study,
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
        digest=lambda wildcards: STUDIES[wildcards.study].report,
    message:
        "Writing the report of {wildcards.study}"
    shell:
        "python -m fabricstudy.report --study {input.study:q} --plan results/{wildcards.study}"
        " --tables results/{wildcards.study}/tables --out reports/{wildcards.study} 2> {log:q}"
