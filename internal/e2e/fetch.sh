#!/usr/bin/env bash
# Installs what the tests use and this machine lacks: the only place that installs anything.
# Needs apt-get and root; without them it says what is missing, and those tests are skipped in one line each.
#
#   chromium    the shopper's way through the pages, codes read off the screen   (internal/e2e)
#   postgresql  the second storage engine; a private cluster for each run        (internal/storage, internal/e2e)
set -uo pipefail

missing=()
command -v chromium >/dev/null || missing+=(chromium)
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || missing+=(postgresql)
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
	echo "not installed, so what needs it is skipped: ${missing[*]} (as root: apt-get install ${missing[*]})"
	exit 0
fi
echo "installing for the tests: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get -o DPkg::Lock::Timeout=300 update -qq &&
	apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
	echo "could not be installed, so what needs it is skipped: ${missing[*]}"
exit 0
