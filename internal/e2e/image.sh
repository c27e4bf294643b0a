#!/usr/bin/env bash
# Builds the container image with buildah and runs it. The Dockerfile's own builder image cannot be downloaded
# on every machine, so an image with the local Go, busybox and CA certificates replaces it. Run by make
# nightly, as root.
set -euo pipefail
if [ "$(id -u)" -ne 0 ] || ! command -v buildah >/dev/null || ! command -v busybox >/dev/null; then
	echo "skipped: the container image is built with buildah and busybox-static, as root"
	[ -z "${CI:-}" ]
	exit
fi
cd "$(dirname "$0")/../.."

version=test-$$
work=$(mktemp -d)
server=
cleanup() {
	[ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server"; } || true
	buildah rm "$version-builder" "$version-run" >/dev/null 2>&1 || true
	buildah rmi "localhost/builder:$version" "localhost/chequer:$version" >/dev/null 2>&1 || true
	rm -rf "$work"
}
trap cleanup EXIT
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot

# The builder: Go, a shell, certificates.
buildah from --name "$version-builder" scratch >/dev/null
root=$(buildah mount "$version-builder")
mkdir -p "$root"/{bin,tmp,src,root,usr/local,etc/ssl/certs}
chmod 1777 "$root/tmp"
cp "$(command -v busybox)" "$root/bin/busybox"
for name in sh mkdir chown; do ln -s busybox "$root/bin/$name"; done
cp -r "$(go env GOROOT)" "$root/usr/local/go"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
buildah umount "$version-builder" >/dev/null
buildah config --env PATH=/usr/local/go/bin:/bin --env HOME=/root --env GOPROXY=off --env GOFLAGS=-buildvcs=false \
	--env GOMODCACHE=/modules "$version-builder"
buildah commit --quiet "$version-builder" "localhost/builder:$version" >/dev/null

buildah build --quiet --format docker --build-arg "BUILDER=localhost/builder:$version" --build-arg "VERSION=$version" \
	--volume "$(go env GOMODCACHE):/modules:ro" --tag "localhost/chequer:$version" . >/dev/null

# What an operator relies on: the image contains only the program, runs as a user other than root, and is healthy.
buildah from --name "$version-run" "localhost/chequer:$version" >/dev/null
buildah inspect --format '{{.OCIv1.Config.User}} {{.OCIv1.Config.Entrypoint}} {{.OCIv1.Config.Cmd}}' "$version-run" | grep -qx '65532:65532 \[/usr/bin/chequer\] \[serve\]'
buildah inspect --format '{{.Docker.Config.Healthcheck.Test}}' "$version-run" | grep -qx '\[CMD /usr/bin/chequer health\]'
buildah run "$version-run" -- /usr/bin/chequer version | grep -q "^chequer $version "
port=$((20000 + $$ % 20000))
settings=(--env "CHEQUER_LISTEN=127.0.0.1:$port" --env CHEQUER_BASE_URL=http://127.0.0.1:$port --env CHEQUER_BITCOIN_NODE=off
	--env CHEQUER_ETHEREUM_RPC=off --env CHEQUER_BASE_RPC=off --env CHEQUER_RATES=fixed:BTC-EUR=86420.00,EUR-USD=1.08)
buildah run "${settings[@]}" "$version-run" -- /usr/bin/chequer serve >"$work/log" 2>&1 &
server=$!
for _ in $(seq 100); do
	buildah run "${settings[@]}" "$version-run" -- /usr/bin/chequer health >/dev/null 2>&1 && healthy=yes && break
	kill -0 "$server" || break
done
[ "${healthy:-}" = yes ] || { cat "$work/log"; echo "the container is not healthy"; exit 1; }
echo "container image: built, $(buildah images --format '{{.Size}}' "localhost/chequer:$version"), runs as 65532, healthy"
