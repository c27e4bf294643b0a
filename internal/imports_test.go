package internal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// floors maps each package to its floor; a package imports only from floors below its own. See
// README.md.
var floors = map[string]int{
	"chequer/internal/idn":     -1, // imported by packages of floor 0 that parse addresses
	"chequer/internal/durable": -1, // imported by config
	"chequer/internal/format":  -1, // imported by signature
	"chequer/internal/evm":     -1, // imported by keys
	"chequer/internal/monero":  -1, // imported by keys

	"chequer/internal/money": 0, "chequer/internal/api": 0, "chequer/internal/signature": 0,
	"chequer/internal/keys": 0, "chequer/internal/config": 0, "chequer/internal/seal": 0, "chequer/internal/caller": 0, "chequer/internal/build": 0, "chequer/internal/diskspace": 0, "chequer/internal/filelock": 0, "chequer/internal/requestlog": 0, "chequer/internal/clock": 0, "chequer/internal/token": 0, "chequer/internal/guard": 0, "chequer/internal/logonce": 0, "chequer/internal/download": 0,
	"chequer/internal/openapi": 0, "chequer/internal/theme": 0, "chequer/internal/proof": 0, "chequer/internal/receipt": 0, "chequer/internal/locale": 0, "chequer/internal/manual": 0, "chequer/internal/zone": 0, "chequer/internal/chain/lightning/bolt11": 0, "chequer/internal/invoice/calllimit": 0,
	"chequer/internal/sweep/plan": 0,
	"chequer/static":              0,

	"chequer/internal/audit": 1, "chequer/internal/httpapi": 1, "chequer/internal/chain": 1, "chequer/internal/client": 1, "chequer/internal/console": 1, "chequer/internal/sweep/sign": 1, "chequer/internal/sweep/recorded": 1, "chequer/internal/storage/engine": 1, "chequer/views": 1, "chequer/web/live": 1, "chequer/web/desk/changes": 1,

	"chequer/internal/account": 2, "chequer/internal/invoice": 2, "chequer/internal/merchant": 2, "chequer/internal/rates": 2, "chequer/internal/exchange": 2,
	"chequer/internal/sweep/offline": 2, "chequer/internal/refundfile": 2, "chequer/internal/client/foreign": 2, "chequer/internal/chain/utxo": 2, "chequer/internal/chain/ethereum": 2, "chequer/internal/chain/simnet": 2, "chequer/internal/chain/lightning": 2,
	"chequer/internal/storage/highwater": 2, "chequer/web/present": 2, "chequer/web/rendered": 2, "chequer/views/desk": 2,

	"chequer/internal/chain/bitcoin": 3, "chequer/internal/chain/monero": 3, "chequer/web": 3, "chequer/internal/wire": 3, "chequer/internal/invoicing": 3, "chequer/internal/report": 3, "chequer/internal/casework": 3, "chequer/internal/retention": 3,

	"chequer/internal/server": 4, "chequer/internal/greenfield": 4, "chequer/web/desk/visit": 4, "chequer/internal/watcher": 4, "chequer/internal/webhook": 4, "chequer/internal/notify": 4, "chequer/internal/sale": 4, "chequer/internal/chain/bitcoin/node": 4,
	"chequer/internal/chain/bitcoin/light": 4, "chequer/internal/chain/ethereum/quorum": 4, "chequer/internal/chain/monero/daemon": 4,
	"chequer/internal/chain/lightning/lnaddress": 4, "chequer/internal/chain/lightning/lnd": 4, "chequer/internal/chain/lightning/nwc": 4, "chequer/internal/chain/lightning/phoenixd": 4,
	"chequer/internal/prices": 4, "chequer/internal/books": 4, "chequer/internal/readiness": 4, "chequer/internal/demo": 4, "chequer/internal/loglimit": 4,

	"chequer/web/desk/payments": 5, "chequer/web/desk/reports": 5, "chequer/web/desk/sell": 5, "chequer/web/desk/developers": 5, "chequer/web/desk/signin": 5, "chequer/web/desk/team": 5, "chequer/web/desk/settings": 5, "chequer/web/desk/health": 5, "chequer/web/desk/wallets": 5, "chequer/web/desk/sweeps": 5, "chequer/internal/storage": 5, "chequer/internal/storage/backup": 5, "chequer/internal/networks": 5, "chequer/internal/metrics": 5,

	"chequer/web/desk": 6, "chequer/internal/datadir": 6, "chequer/internal/sweep": 6,

	"chequer/internal/doctor": 7,

	"chequer/internal/app": 8,

	"chequer/cmd/chequer": 9, "chequer/static/generate": 9,
	"chequer/internal/api/examples/create": 9, "chequer/internal/api/examples/read": 9, "chequer/internal/api/examples/callback": 9,
}

// testOnly are the packages that only tests import.
var testOnly = map[string]bool{
	"chequer/internal/account/accounttest":           true,
	"chequer/internal/invoice/invoicetest":           true,
	"chequer/internal/chain/chaintest":               true,
	"chequer/internal/chain/bitcoin/bitcointest":     true,
	"chequer/internal/chain/ethereum/ethereumtest":   true,
	"chequer/internal/chain/lightning/lightningtest": true,
	"chequer/internal/chain/lightning/lndtest":       true,
	"chequer/internal/chain/monero/monerotest":       true,
	"chequer/internal/storage/storagetest":           true,
	"chequer/internal/sweep/plan/plantest":           true,
	"chequer/web/present/presenttest":                true,
	"chequer/internal/e2e":                           true,
	"chequer/internal/programtest":                   true,
	"chequer/internal/clocktest":                     true,
	"chequer/internal/tokentest":                     true,
	"chequer/internal/logtest":                       true,
	"chequer/internal/notify/smtptest":               true,
	"chequer/internal/exchange/exchangetest":         true,
}

func TestImports_point_down(t *testing.T) {
	t.Parallel()
	for path, imports := range packages(t) {
		if testOnly[path] {
			continue
		}
		floor, known := floors[path]
		if !known {
			t.Errorf("%s has no floor: add it to floors", path)
			continue
		}
		for _, imported := range imports {
			switch importedFloor, known := floors[imported]; {
			case testOnly[imported]:
				t.Errorf("%s is part of the program, but imports %s, which is for tests", path, imported)
			case known && importedFloor >= floor:
				t.Errorf("%s (floor %d) imports %s (floor %d)", path, floor, imported, importedFloor)
			}
		}
	}
}

// forbidden are imports that the floors allow, with the reason why they are refused.
var forbidden = map[[2]string]string{
	{"chequer/cmd/chequer", "chequer/internal/server"}: "commands print the types of package wire; only app builds the server",
}

func TestImports_are_not_forbidden(t *testing.T) {
	t.Parallel()
	list := packages(t)
	for pair, reason := range forbidden {
		if slices.Contains(list[pair[0]], pair[1]) {
			t.Errorf("%s imports %s: %s", pair[0], pair[1], reason)
		}
	}
}

// maxFiles is the largest number of files of a package, without tests and generated files. Package
// storage is exempt: it has one file for each noun.
const maxFiles = 25

func TestPackages_have_few_files(t *testing.T) {
	t.Parallel()
	files := map[string]int{}
	for _, path := range tree(t, ".git", "bin", "data", "node_modules") {
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(path, "_templ.go") {
			files[filepath.ToSlash(filepath.Dir(path))]++
		}
	}
	if files["../internal/storage"] == 0 {
		t.Errorf("package storage was not counted: %v", files)
	}
	for folder, n := range files {
		if n > maxFiles && folder != "../internal/storage" {
			t.Errorf("%s has %d files, want at most %d", folder, n, maxFiles)
		}
	}
}

// packages returns the packages of this module with their imports outside tests.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	command := exec.Command("go", "list", "-json=ImportPath,Imports,GoFiles", "./...")
	command.Dir = ".."
	output, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	found := map[string][]string{}
	decoder := json.NewDecoder(bytes.NewReader(output))
	for {
		var p struct {
			ImportPath string
			Imports    []string
			GoFiles    []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		if len(p.GoFiles) == 0 {
			continue
		}
		found[p.ImportPath] = slices.DeleteFunc(p.Imports, func(i string) bool {
			return !strings.HasPrefix(i, "chequer/")
		})
	}
}
