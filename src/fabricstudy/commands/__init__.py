"""The commands, one module each, which `fabricstudy.cli` lists.

In: arguments of the command line.

Out: text or JSON on standard output, and an exit code.
"""
