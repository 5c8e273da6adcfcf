"""Backfilling: which later jobs may start while an earlier one waits; one module for each rule."""
