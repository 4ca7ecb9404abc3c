# Sourced by tests/run.sh and experiments/quickstart.sh. Goes to the root of the repository, makes
# its .venv ready and leaves the path of that interpreter in $python.
#
# Needs a Python 3.11 or newer (PYTHON=/path/to/python names one) and bash 3.2 or newer, and the
# network only when a requirements.txt asks for something .venv does not hold. A second run does
# nothing. A set-up that was interrupted is done again: `unfinished` stands in .venv while pip works.

# What an interpreter says of itself: its version, and why it will not do.
probe='
import sys
print("%d.%d" % sys.version_info[:2])
if sys.version_info < (3, 11):
    sys.exit(1)
try:
    import ensurepip, venv
except ImportError:
    print("without venv")
    sys.exit(1)
'

stop() {
  echo "setup: $*" >&2
  exit 1
}

# Sets $base to the first interpreter that will do.
find_python() {
  local found="" candidate said
  if [ -n "${PYTHON:-}" ]; then
    set -- "$PYTHON"
  else
    set -- python3.13 python3.12 python3.11 python3 python
  fi
  for candidate in "$@"; do
    if said=$("$candidate" -c "$probe" 2>/dev/null); then
      base=$candidate
      return
    fi
    [ -z "$said" ] || found="$found${found:+, }$candidate is Python $(echo $said)"
  done
  [ -z "${PYTHON:-}" ] || found=${found:-PYTHON=$PYTHON does not run}
  stop "el_jax needs Python 3.11 or newer with its venv module; found: ${found:-none}." \
    "Install one, or name it: PYTHON=/path/to/python3.13 bash $0"
}

works() {
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

make_environment() {
  local base
  find_python
  echo "setup: making .venv with $("$base" --version) ..."
  rm -rf .venv/bin # first, so that a half-cleared .venv is never taken for a working one
  "$base" -m venv --clear --without-pip .venv || stop "$base could not make .venv (see above)."
  works || stop "$base made a .venv whose Python does not start."
}

install_requirements() {
  local start=$SECONDS
  echo "setup: installing $requirements into .venv (a few minutes the first time) ..."
  touch .venv/unfinished
  # an interrupted pip leaves half-written packages: keep the mark, so that the next run starts afresh
  trap 'exit 130' INT TERM HUP
  if ! { "$python" -c 'import pip' 2>/dev/null || "$python" -m ensurepip >/dev/null; } ||
    ! "$python" -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt; then
    rm -f .venv/unfinished
    stop "pip could not install $requirements (see above)."
  fi
  trap - INT TERM HUP
  cat $requirements >.venv/installed.txt
  rm -f .venv/unfinished
  echo "setup: installed in $((SECONDS - start)) s"
}

root=$(CDPATH='' cd -- "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
python=$root/.venv/bin/python
requirements="requirements.txt tests/requirements.txt"
if [ -e .venv/unfinished ] || ! works; then
  make_environment
fi
if ! cat $requirements | cmp -s - .venv/installed.txt; then
  install_requirements
fi
