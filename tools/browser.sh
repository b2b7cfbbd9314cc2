#!/bin/sh
# What the tests of pages need beside Python: Chromium from the system's packages, where they may be
# installed, and axe-core. Without them these tests are skipped with the reason, or fail in CI.
set -u
if ! command -v chromium >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing chromium"
    { apt-get -qq update && apt-get -qq install --yes --no-install-recommends chromium; } >/dev/null 2>&1 ||
        echo "chromium could not be installed; tests of pages will not run"
fi
if command -v npm >/dev/null; then
    npm install --silent --no-audit --no-fund --no-package-lock ||
        echo "axe-core could not be installed; tests of accessibility will not run"
fi
exit 0
