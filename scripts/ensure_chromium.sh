#!/bin/sh
# The browser tests need a chromium. Where there is none and this user may
# install packages on a Debian-like system, install it; elsewhere say why the
# browser tests will be skipped. Never a reason to fail.
set -u

for name in chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null 2>&1 && exit 0
done

skipped() {
  echo "The browser tests will be skipped: $1"
  exit 0
}

command -v apt-get >/dev/null 2>&1 ||
  skipped "there is no chromium, and no apt-get to install it with; install chromium yourself to run them."

if [ "$(id -u)" -eq 0 ]; then
  as_root=
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
  as_root="sudo -n"
else
  skipped "there is no chromium, and installing it needs an administrator (apt-get install chromium)."
fi

echo "Installing chromium for the browser tests ..."
log=$(mktemp)
if $as_root apt-get update >"$log" 2>&1 &&
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium >>"$log" 2>&1; then
  rm -f "$log"
else
  tail -n 3 "$log" >&2
  rm -f "$log"
  skipped "apt-get could not install chromium (its last words are above)."
fi
