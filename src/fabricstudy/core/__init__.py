"""What all packages rest on: kinds, checked models, quantities, errors, columns, digests of code, and the store.

In: nothing of the other packages.

Out: `Kind` and `register`, `Model`, quantities in base units, `FabricstudyError`, `Store`, digests of code.
"""
