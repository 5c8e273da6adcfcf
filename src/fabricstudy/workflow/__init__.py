"""What the Snakefile calls: from planned studies to the jobs of the workflow, what each job does, and progress.

In: study files and what `--config` sets.

Out: `Pipeline`: the jobs of a study with their digests; what each job does; progress.
"""
