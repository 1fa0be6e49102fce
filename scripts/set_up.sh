#!/bin/sh
# Make or renew .venv: `set_up.sh` for running the app, which compiles the numerical code
# behind its first page; `set_up.sh dev` for testing too, which compiles it here.
# Make calls this only when its inputs changed.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
target=".${1:+[$1]}"
inside=.venv/bin/python

stop() {
  echo "$1" >&2
  exit 1
}

command -v "$python" >/dev/null 2>&1 ||
  stop "There is no $python here: install Python 3.11 or newer, or name one with PYTHON=..."
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  stop "$("$python" --version) is too old: Python 3.11 or newer is needed; name one with PYTHON=..."

# Without pip the environment is there at once; an interrupted first run may have left half of one.
if ! "$inside" -c 'import encodings' >/dev/null 2>&1; then
  echo "Making the environment in .venv ..."
  "$python" -m venv --clear --without-pip .venv ||
    stop "The environment could not be made: on Debian and Ubuntu install python3-venv, then try again."
fi

# Of the pips there may be (this environment's, the one that comes with $python), the first that
# installs into .venv; where neither does, the environment gets one of its own.
pip_install() {
  if "$inside" -m pip --version >/dev/null 2>&1; then
    "$inside" -m pip install --quiet --constraint constraints.txt "$@"
  elif "$python" -m pip --python "$inside" --version >/dev/null 2>&1; then
    "$python" -m pip --python "$inside" install --quiet --constraint constraints.txt "$@"
  else
    "$inside" -m ensurepip >/dev/null ||
      stop "There is no pip here: on Debian and Ubuntu install python3-venv, then try again."
    "$inside" -m pip install --quiet --constraint constraints.txt "$@"
  fi
}

echo "Installing what constraints.txt names ..."
# uv installs in seconds what takes pip a minute or two; without it pip does. Nothing is translated
# ahead: Python keeps the translation of what it imports, a seventh of all the files.
if { [ -x .venv/bin/uv ] || pip_install uv; } &&
  .venv/bin/uv pip install --quiet --python "$inside" --constraint constraints.txt --editable "$target"; then
  :
else
  echo "uv could not do it; installing with pip, which takes longer ..." >&2
  pip_install --editable "$target" ||
    stop "The packages could not be installed: see the message above, most often the network."
fi

if [ "${1:-}" = dev ]; then
  echo "Compiling the numerical code ..."
  "$inside" -m imop_engine.warm
fi
