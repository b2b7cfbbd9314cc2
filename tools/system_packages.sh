#!/bin/sh
# Programs that tests need beside Python, from the system's packages where they may be installed:
# Chromium and axe-core for pages, pdflatex for tables. Without them these tests are skipped with the
# reason; in CI a skipped test of pages is a failure.
set -u
install() { # the command, and the package that has it
    if ! command -v "$1" >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "installing $2"
        { apt-get -qq update && apt-get -qq install --yes --no-install-recommends "$2"; } >/dev/null 2>&1 ||
            echo "$2 could not be installed; tests with $1 will not run"
    fi
}
install chromium chromium
install pdflatex texlive-latex-recommended
if command -v npm >/dev/null; then
    npm install --silent --no-audit --no-fund --no-package-lock ||
        echo "axe-core could not be installed; tests of accessibility will not run"
fi
exit 0
