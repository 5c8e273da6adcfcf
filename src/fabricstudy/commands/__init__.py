"""One module a command; `fabricstudy.cli` knows them all."""
