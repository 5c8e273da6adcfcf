# What can be asked for by name, for all studies of the call.


rule machines:
    """Machine definitions, with structure and bisection."""
    input:
        [path for study in STUDIES for path in INPUTS.machines(study)],


rule workloads:
    """Workload definitions: nodes and ranks of each job."""
    input:
        [path for study in STUDIES for path in INPUTS.workloads(study)],


rule simulations:
    """Records of all simulations and scheduled runs."""
    input:
        [path for study in STUDIES for path in INPUTS.simulations(study)],


rule tables:
    """All tables."""
    input:
        [path for study in STUDIES for path in INPUTS.tables(study)],


rule reports:
    """The reports, with their figures."""
    input:
        [path for study in STUDIES for path in INPUTS.reports(study)],


rule artifact:
    """The studies with their results and code, each as one archive."""
    input:
        expand("artifact/{study}.tar.gz", study=STUDIES),
