# In:  the study file and results/{study}/tables.
# Out: reports/{study}: index.html, and each figure as SVG and PDF.


rule report:
    """Draw the figures of a study and write its page."""
    input:
        study=lambda wildcards: STUDIES[wildcards.study].file,
        tables="results/{study}/tables",
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
        # Names of the figures; taken away where one is gone; see fabricstudy.workflow.snakefile.
        stored="results/{study}/figures.stored",
    log:
        "logs/{study}/report.log",
    benchmark:
        "benchmarks/{study}/report.jsonl"
    conda:
        "../../envs/fabricstudy.yaml"
    params:
        code=lambda wildcards: STUDIES[wildcards.study].report_digest,
    shell:
        "python -m fabricstudy.report --study {input.study:q} --tables {input.tables:q}"
        " --out reports/{wildcards.study} 2> {log:q} && ls {output.figures:q} > {output.stored:q}"
