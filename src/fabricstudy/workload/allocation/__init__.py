"""Which nodes a job gets: one module per policy.

In: a `Request`: the machine, the job that holds each node, and the number of nodes wanted; at least as many are free.
Out: a `Grant`, or `WorkloadError` where the policy's rule cannot be met.
"""
