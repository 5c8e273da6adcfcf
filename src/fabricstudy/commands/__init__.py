"""The commands, one module each; `fabricstudy.cli` lists them.

In: arguments of the command line.

Out: text or JSON on standard output, and an exit code.
"""
