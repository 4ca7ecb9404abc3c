#!/usr/bin/env bash
# Every check and test of the repository:
#
#   bash tests/run.sh [--slow] [--peers] [--no-lint] [pytest arguments]
#
#   --slow      also the tests that take minutes; programs are compiled with XLA's default options
#   --peers     also those against transformers, TransformerLens and tools for curvature; installs
#               PyTorch in the user's cache folder, once
#   --no-lint   pytest only
#
# Paths among the pytest arguments are relative to the root of the repository. All checks run, and
# the exit code is that of the first that failed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../.ci/setup.sh"

lint=yes
left_out="slow peers"
for argument in "$@"; do
  shift
  case $argument in
    --slow)
      left_out=${left_out/slow/}
      export XLA_FLAGS="--xla_backend_optimization_level=3 ${XLA_FLAGS:-}"
      ;;
    --peers) left_out=${left_out/peers/} ;;
    --no-lint) lint=no ;;
    *) set -- "$@" "$argument" ;;
  esac
done

code=0
failed=""
check() {
  local status=0
  echo "--- $*"
  "$python" -m "$@" || status=$?
  if [ "$status" -ne 0 ]; then
    failed="$failed${failed:+, }$*"
    [ "$code" -ne 0 ] || code=$status
  fi
}

if [ "$lint" = yes ]; then
  check ruff check .
  check ruff format --check .
  check mypy
  check colab.build --check
fi

cores=$("$python" -c 'import os; print(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())')
[ "$cores" -lt 2 ] || set -- -n 2 --dist=worksteal "$@"
markers=""
for marker in $left_out; do
  markers="$markers${markers:+ and }not $marker"
done
echo "--- pytest"
status=0
"$python" -m pytest -m "$markers" "$@" || status=$?
[ "$code" -ne 0 ] || code=$status
[ -z "$failed" ] || echo "failed before pytest: $failed (see above)" >&2
exit "$code"
