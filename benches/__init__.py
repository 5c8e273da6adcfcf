"""Measurements of what the project promises; each module prints figures and judges nothing."""
