"""Readers and writers of traces, one module a format."""
