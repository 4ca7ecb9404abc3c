#!/usr/bin/env bash
# From a fresh clone to a first figure:  bash experiments/quickstart.sh
#
# Makes .venv if there is none, then trains el_copy_overfit at its quick scale (three to six
# minutes on two CPU cores), prints a verdict for each claim and draws the figure, in
# runs/results/el_copy_overfit-quick.
# Interrupted, it goes on where it was.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../.ci/setup.sh"

start=$SECONDS
"$python" -m experiments run el_copy_overfit --scale=quick "$@" || {
  code=$?
  echo "quickstart: the experiment stopped with exit code $code (see above)." >&2
  exit "$code"
}
echo
echo "quickstart: done in $((SECONDS - start)) s. Both losses fit every training string. At this learning rate, where"
echo "padding and letter disagree, cross-entropy answers by the padding's shortcut and E1 copies the letter more"
echo "often (experiments/el_copy_overfit). What rates of their own change: experiments/el_copy_strings."
