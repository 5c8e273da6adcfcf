"""Traces of jobs: one module for each kind."""
