#!/usr/bin/env bash
# Installs what the tests need and this machine lacks. Only this script installs anything. For each
# program that it cannot install it prints one line, and each test that needs the program is skipped.
#
#   chromium    what shoppers do in the pages, QR codes read from the screen     (internal/e2e)
#   firefox     a part of these tests in another browser                         (internal/e2e)
#   webkit      the same part in a third browser; nightly only                   (internal/e2e)
#   postgresql  the second storage engine; a private cluster for each run        (internal/storage, internal/e2e)
#   pgbouncer   a connection pooler in front of PostgreSQL                       (internal/storage)
#   litecoind   a node with Bitcoin Core's interfaces                            (internal/chain/bitcoin/bitcointest)
#   btcd        a Bitcoin node                                                   (internal/chain/bitcoin/bitcointest)
#   anvil       an Ethereum node                                                 (internal/chain/ethereum/ethereumtest)
#   geth        another Ethereum node; nightly only: "fetch.sh nightly"           (internal/chain/ethereum/ethereumtest)
#   php-cli     the examples in PHP, with curl, bcmath and mbstring              (internal/server, internal/e2e)
#   python3     the examples in Python                                           (internal/server, internal/e2e)
#   nodejs      the examples in JavaScript                                       (internal/server, internal/e2e)
#   openssl     signatures made by another program                               (internal/server, internal/webhook, internal/e2e)
#   axe-core    accessibility checks of the pages                                (internal/e2e)
#   greenfield  the client of BTCPay Server's API, from npm                      (internal/e2e)
#   viem        signatures of a sweep made by another program                    (internal/sweep/sign)
#   lighthouse  checks of the pages by Chromium's makers; nightly only           (internal/e2e)
#   lightning   nodes (lnd), a relay (khatru) and a wallet; nightly only         (internal/chain/lightning/lndtest)
#   monero      a daemon and wallets of Monero; nightly only                     (internal/chain/monero/monerotest)
#   buildah     the container image; nightly only                                (internal/e2e/image.sh)
#   pdftotext   the text of receipts, read by another program                    (internal/receipt, web)
#   golangci    the linters of make lint: only "fetch.sh lint" installs it        (.golangci.yml)
set -uo pipefail

packages() { # installed with apt-get, which needs root
	local missing=() module
	command -v chromium >/dev/null || missing+=(chromium)
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || missing+=(postgresql)
	command -v firefox-esr >/dev/null || missing+=(firefox-esr)
	command -v pgbouncer >/dev/null || missing+=(pgbouncer)
	command -v litecoind >/dev/null || missing+=(litecoind)
	command -v php >/dev/null || missing+=(php-cli)
	for module in curl bcmath mbstring; do
		php -m 2>/dev/null | grep -qx "$module" || missing+=("php-$module")
	done
	command -v python3 >/dev/null || missing+=(python3)
	command -v node >/dev/null || missing+=(nodejs)
	command -v openssl >/dev/null || missing+=(openssl)
	command -v pdftotext >/dev/null || missing+=(poppler-utils)
	if [ "${1:-}" = nightly ]; then
		command -v WebKitWebDriver >/dev/null || missing+=(webkit2gtk-driver)
		command -v Xvfb >/dev/null || missing+=(xvfb)
		command -v buildah >/dev/null || missing+=(buildah)
		command -v busybox >/dev/null || missing+=(busybox-static)
		command -v monerod >/dev/null || missing+=(monero) # with monero-wallet-rpc
	fi
	[ ${#missing[@]} -eq 0 ] && return

	if ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
		echo "not installed, tests that need them are skipped: ${missing[*]} (as root: apt-get install ${missing[*]})"
		return
	fi
	echo "installing for the tests: ${missing[*]}"
	export DEBIAN_FRONTEND=noninteractive
	apt-get -o DPkg::Lock::Timeout=300 update -qq &&
		apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
		echo "could not be installed, tests that need them are skipped: ${missing[*]}"
}

# btcd is built as a module of its own, because its versions of libraries differ from this module's. At each
# start it empties the database of a regression test network. The build removes the line that does this, so
# that a restart keeps the blocks.
btcd() {
	local version=0.26.2 build=restartable cache=${XDG_CACHE_HOME:-$HOME/.cache}/chequer/bin source
	[[ "$("$cache/btcd" --version 2>/dev/null)" == *" $version-beta+$build" ]] && return

	echo "building for the tests: btcd $version (takes minutes once)"
	source=$(mktemp -d)
	(
		set -e
		export GOFLAGS= GOWORK=off
		cd "$source"
		cp -r "$(go mod download -json "github.com/btcsuite/btcd@v$version" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')" module
		chmod -R u+w module
		cd module
		sed '/^\tremoveRegressionDB(dbPath)$/d' btcd.go >patched
		mv patched btcd.go
		mkdir -p "$cache"
		go build -ldflags "-X main.appBuild=$build" -o "$cache/btcd.new" .
		mv "$cache/btcd.new" "$cache/btcd"
	) >/dev/null 2>&1
	[ $? -eq 0 ] || echo "could not be built, tests that need it are skipped: btcd $version"
	rm -rf "$source"
}

# golangci-lint is built as a module of its own, so that its dependencies stay out of this module's.
golangci() {
	local version=2.15.0 cache=${XDG_CACHE_HOME:-$HOME/.cache}/chequer/bin
	[[ "$("$cache/golangci-lint" version --short 2>/dev/null)" == *"$version" ]] && return

	echo "building for make lint: golangci-lint $version (takes minutes once)"
	mkdir -p "$cache"
	GOFLAGS= GOWORK=off GOBIN=$cache go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$version" >/dev/null 2>&1 ||
		echo "could not be built, its linters are skipped: golangci-lint $version"
}

# anvil comes from Foundry's npm package, which is verified by its hash.
anvil() {
	local version=1.7.1 cache=${XDG_CACHE_HOME:-$HOME/.cache}/chequer/bin source
	[[ "$("$cache/anvil" --version 2>/dev/null)" == "anvil Version: $version"* ]] && return

	echo "installing for the tests: anvil $version"
	source=$(mktemp -d)
	(
		set -e
		cd "$source"
		npm pack --silent "@foundry-rs/anvil-linux-amd64@$version"
		echo "f979928726c46b17c2aebd0e514670604cb63a7619b79a471fd4f306d2efdfe56b2b43bf00db8d49511a86a3612879605fb191279f77f37a1f361c644562184e  foundry-rs-anvil-linux-amd64-$version.tgz" | sha512sum --check
		tar xzf ./*.tgz
		mkdir -p "$cache"
		mv package/bin/anvil "$cache/anvil.new"
		mv "$cache/anvil.new" "$cache/anvil"
	) >/dev/null 2>&1
	[ $? -eq 0 ] || echo "could not be installed, tests that need it are skipped: anvil $version (needs npm, on linux-amd64)"
	rm -rf "$source"
}

# axe-core is a script that runs in pages. It comes from its npm package, which is verified by its hash.
axe() {
	local version=4.14.1 cache=${XDG_CACHE_HOME:-$HOME/.cache}/chequer/bin source
	[ -f "$cache/axe.$version.js" ] && return

	echo "installing for the tests: axe-core $version"
	source=$(mktemp -d)
	(
		set -e
		cd "$source"
		npm pack --silent "axe-core@$version"
		echo "1477dafa598d8d065f273d6af302aa203c02e83131707b7fa648cd41bd3d6b734f8c22a0dab86ee6a6f64b8afbe804b214d36db85a2826965edfb3a0b9d546b5  axe-core-$version.tgz" | sha512sum --check
		tar xzf ./*.tgz
		mkdir -p "$cache"
		mv package/axe.min.js "$cache/axe.new"
		mv "$cache/axe.new" "$cache/axe.$version.js"
	) >/dev/null 2>&1
	[ $? -eq 0 ] || echo "could not be installed, tests that need it are skipped: axe-core $version (needs npm)"
	rm -rf "$source"
}

# npm_packages installs the npm packages of a folder in testdata, each verified by its hash in package-lock.json.
npm_packages() { # name, folder
	local here cache=${XDG_CACHE_HOME:-$HOME/.cache}/chequer/$2
	here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/testdata/$2
	cmp -s "$here/package-lock.json" "$cache/package-lock.json" && [ -f "$cache/complete" ] && return

	echo "installing for the tests: $1"
	(
		set -e
		rm -rf "$cache"
		mkdir -p "$cache"
		cp "$here"/package*.json "$cache"
		cd "$cache"
		PUPPETEER_SKIP_DOWNLOAD=1 npm ci --silent --ignore-scripts --no-audit --no-fund
		touch complete
	) >/dev/null 2>&1
	[ $? -eq 0 ] || echo "could not be installed, tests that need it are skipped: $1 (needs npm)"
}

# geth is built as a module of its own, too: go-ethereum is under the LGPL and not a part of the program. A
# nightly run fails without it.
geth() {
	local version=1.17.10 cache=${XDG_CACHE_HOME:-$HOME/.cache}/chequer/bin build
	[[ "$("$cache/geth" version 2>/dev/null)" == *"Version: $version-stable"* ]] && return

	echo "building for the nightly tests: geth $version (takes minutes once)"
	build=$(mktemp -d)
	(
		set -e
		cd "$build"
		mkdir -p "$cache"
		GOFLAGS= GOWORK=off CGO_ENABLED=0 GOBIN=$build go install "github.com/ethereum/go-ethereum/cmd/geth@v$version"
		mv geth "$cache/geth"
	) >/dev/null 2>&1
	[ $? -eq 0 ] || echo "could not be built, the nightly run will fail: geth $version"
	rm -rf "$build"
}

# lnd, a relay and the wallet service of NWC are built from a module and npm packages of their own, each verified by its
# hash in go.sum or package-lock.json. The versions of their dependencies differ from those of this module. A nightly run
# fails without them.
lightning() {
	local here bin=${XDG_CACHE_HOME:-$HOME/.cache}/chequer/bin cache=${XDG_CACHE_HOME:-$HOME/.cache}/chequer/lightning
	here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/testdata/lightning
	diff -rq --exclude node_modules "$here" "$cache" >/dev/null 2>&1 && [ -x "$bin/lnd" ] && [ -x "$bin/nostr-relay" ] && [ -d "$cache/node_modules" ] && return

	echo "building for the nightly tests: lnd, a relay and a wallet of Nostr (takes minutes once)"
	(
		set -e
		export GOFLAGS= GOWORK=off
		rm -rf "$cache"
		mkdir -p "$bin" "$cache"
		cd "$here"
		go build -ldflags "-s -w" -tags "invoicesrpc routerrpc" -o "$bin/lnd.new" github.com/lightningnetwork/lnd/cmd/lnd
		go build -ldflags "-s -w" -o "$bin/nostr-relay.new" ./relay
		mv "$bin/lnd.new" "$bin/lnd"
		mv "$bin/nostr-relay.new" "$bin/nostr-relay"
		cd "$cache"
		cp "$here"/package*.json .
		npm ci --silent --ignore-scripts --no-audit --no-fund
		cp -r "$here"/. .
	) >/dev/null 2>&1
	[ $? -eq 0 ] || echo "could not be built, the nightly run will fail: lnd, a relay and a wallet of Nostr (need npm)"
}

if [ "${1:-}" = lint ]; then
	golangci
	exit 0
fi
packages "${1:-}"
btcd
anvil
axe
npm_packages btcpay-greenfield-node-client greenfield
npm_packages viem viem
if [ "${1:-}" = nightly ]; then
	geth
	npm_packages lighthouse lighthouse
	lightning
fi
exit 0
