#!/usr/bin/env bash
# Checks the dependencies for known vulnerabilities, if the vulnerability database can be reached.
set -uo pipefail
out=$(go tool govulncheck ./... 2>&1)
status=$?
if [ $status -ne 0 ] && grep -qE 'vuln\.go\.dev.*(no such host|connection refused|timeout|dial tcp|Forbidden|EOF|lookup)|fetching vulnerabilities' <<<"$out"; then
	echo "skipped: the vulnerability database cannot be reached"
	exit 0
fi
echo "$out"
exit $status
