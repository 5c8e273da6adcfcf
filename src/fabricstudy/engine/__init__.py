"""Simulators behind one contract: point → record.

In: a planned point, its machine and best cut from the stores, its placed jobs.
Out: one record a point (`simulate`): status, reason, usage, size, bound and runtime of each job, load of each link
class. `batch` divides points into jobs of the workflow and runs one, except for points with a valid record in the store
(`validity`). Each engine is a package with its keys (`EngineSettings`) and adapter (`Engine`).
"""
