"""A study as the artifact of a paper.

In: a study that ran, with its tables, report, records and benchmarks, and the code.

Out: ``pack`` writes a reproducible ``.tar.gz`` with all of it, locks, checksums, RO-Crate metadata, a draft of the
appendix, and a Makefile that runs the study again; ``compare`` compares the tables of two runs value by value;
``check`` verifies the files of an unpacked artifact.
"""
