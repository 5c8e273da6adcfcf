"""Figures and the page of a study.

In: a study, its plan and its tables. Out: ``figures/<id>.svg`` and ``.pdf`` for papers, and the self-contained page
``index.html``: key findings, figures, claims, study setup, machines, bounds, interference, agreement between engines,
failures, provenance and how to reproduce it. Every figure states points, seeds, meaning of the whiskers and missing
points. All text from a study is escaped. Equal tables give equal files.
"""
