#!/bin/sh
# Make or renew .venv: `set_up.sh` for running the app, `set_up.sh dev` for
# testing too. Make calls this only when its inputs changed.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
target=".${1:+[$1]}"

stop() {
  echo "$1" >&2
  exit 1
}

command -v "$python" >/dev/null 2>&1 ||
  stop "There is no $python here: install Python 3.11 or newer, or name one with PYTHON=..."
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  stop "$("$python" --version) is too old: Python 3.11 or newer is needed; name one with PYTHON=..."

# A half-made environment (an interrupted first run) has no working pip.
if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
  echo "Making the environment in .venv ..."
  "$python" -m venv --clear .venv ||
    stop "The environment could not be made: on Debian and Ubuntu install python3-venv, then try again."
fi

echo "Installing what constraints.txt names ..."
# uv installs in seconds what takes pip a minute or two; without it pip does.
if .venv/bin/python -m pip install --quiet --constraint constraints.txt uv &&
  VIRTUAL_ENV="$PWD/.venv" .venv/bin/uv pip install --quiet --compile-bytecode --constraint constraints.txt --editable "$target"; then
  :
else
  echo "uv could not do it; installing with pip, which takes longer ..." >&2
  .venv/bin/python -m pip install --quiet --constraint constraints.txt --editable "$target" ||
    stop "The packages could not be installed: see the message above, most often the network."
fi

echo "Compiling the engine ..."
# Every start would translate our sources anew where PYTHONDONTWRITEBYTECODE is set.
.venv/bin/python -m compileall -q imop_engine app benchmarks data experiments
.venv/bin/python -m imop_engine.warm
