#!/usr/bin/env bash
# Looks for known faults in what we build on, where the database of them can be reached.
set -uo pipefail
out=$(go tool govulncheck ./... 2>&1)
status=$?
if [ $status -ne 0 ] && grep -qE 'vuln\.go\.dev.*(no such host|connection refused|timeout|dial tcp|Forbidden|EOF|lookup)|fetching vulnerabilities' <<<"$out"; then
	echo "skipped: the database of known faults cannot be reached"
	exit 0
fi
echo "$out"
exit $status
