#!/bin/sh
# For cargo's RUSTC_WORKSPACE_WRAPPER: clippy compiles as rustc does, and its warnings are errors here.
exec clippy-driver "$@" -Dwarnings
