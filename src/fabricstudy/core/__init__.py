"""Base of all packages.

In: nothing of the other packages.

Out: `Kind`, `Model`, quantities in base units, `FabricstudyError`, `Store`, columns, digests of code.
"""
