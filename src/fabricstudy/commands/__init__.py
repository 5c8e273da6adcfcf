"""Commands that have a module of their own; `fabricstudy.cli` knows all commands."""
