# In:  the study file and the files that it names.
# Out: all files of the other rules, for studies of seconds: as many jobs would mostly start Python.


for NAME, JOBS in STUDIES.items():

    rule:
        name:
            f"small_{NAME}"
        input:
            study=str(JOBS.file),
            files=INPUTS.named_files_of(NAME),
        output:
            INPUTS.small(NAME),
            page=report(
                f"reports/{NAME}/index.html",
                caption="../report/page.rst",
                category=NAME,
            ),
            figures=report(
                directory(f"reports/{NAME}/figures"),
                patterns=["{figure}.svg"],
                caption="../report/figure.rst",
                category=NAME,
                labels={"figure": "{figure}"},
            ),
        log:
            f"logs/{NAME}/small.log",
        benchmark:
            f"benchmarks/{NAME}/small.jsonl"
        conda:
            "../../envs/fabricstudy.yaml"
        resources:
            mem_mb=JOBS.memory_MB,
            runtime=JOBS.time_min,
        params:
            digest=JOBS.digest,
            batch_cpu_s=str(SETTINGS.batch_cpu_s),
            out=subpath(output[0], parent=True),
        message:
            f"Planning, simulating and drawing {NAME}"
        shell:
            "python -m fabricstudy.workflow.stages small --study {input.study:q} --batch-cpu-s {params.batch_cpu_s}"
            " --out {params.out:q} > {log:q} 2>&1"
