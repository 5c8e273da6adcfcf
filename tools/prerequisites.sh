#!/bin/sh
# Name each program that is missing, with what brings it: Debian's package, that of Enterprise Linux, or Homebrew's.
python=${PYTHON:-python3}
missing=0
install() { # Debian's package, Enterprise Linux's, what macOS does
    if command -v apt-get >/dev/null 2>&1; then
        echo "apt-get install $1"
    elif command -v dnf >/dev/null 2>&1; then
        echo "dnf install $2"
    elif [ "$(uname -s)" = Darwin ]; then
        echo "$3"
    else
        echo "Debian: apt-get install $1; Enterprise Linux: dnf install $2"
    fi
}
need() { # what, how to install it, command that succeeds if it is there
    what=$1 how=$2
    shift 2
    if ! said=$("$@" 2>&1); then
        echo "missing: $what ($how)" >&2
        # What is there and does not work says why: cargo of rustup without a toolchain, for one.
        if command -v "$1" >/dev/null 2>&1; then echo "$said" | sed 's/^/    /' >&2; fi
        missing=1
    fi
}
need "git" "$(install git git 'xcode-select --install')" git --version
need "a C compiler" "$(install gcc gcc 'xcode-select --install')" cc --version
need "cargo" "$(install cargo cargo 'brew install rust'); without root: https://rustup.rs" cargo --version
need "Python 3.11 or newer as $python" \
    "$(install python3 'python3.11, then make PYTHON=python3.11' 'brew install python@3.12')" \
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'
need "Python's venv module with pip" "$(install python3-venv python3.11-pip 'brew install python@3.12')" \
    "$python" -c 'import venv, ensurepip'
exit $missing
