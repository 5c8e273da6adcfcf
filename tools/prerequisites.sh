#!/bin/sh
# Name each program that is missing, with the Debian package that brings it.
python=${PYTHON:-python3}
missing=0
need() { # what, package, command that succeeds if it is there
    what=$1 package=$2
    shift 2
    if ! "$@" >/dev/null 2>&1; then
        echo "missing: $what (Debian: apt-get install $package)" >&2
        missing=1
    fi
}
need "git" git git --version
need "a C compiler" gcc cc --version
need "cargo" cargo cargo --version
need "Python 3.11 or newer as $python" python3 "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'
need "Python's venv module with pip" python3-venv "$python" -c 'import venv, ensurepip'
exit $missing
