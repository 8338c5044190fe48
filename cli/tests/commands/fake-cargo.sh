#!/bin/sh
# `cargo COMMAND` for tests: prints the outputs and returns the exit code that lie beside the link to this file.
file="$(dirname "$0")/$1"
cat "$file.stderr" >&2
cat "$file.stdout"
exit "$(cat "$file.code")"
