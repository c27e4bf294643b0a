package internal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// floors maps each package to its floor; a package imports only from floors below its own. See
// README.md.
var floors = map[string]int{
	"chequer/internal/idn":     -1, // imported by packages of floor 0 that parse addresses
	"chequer/internal/durable": -1, // imported by config

	"chequer/internal/money": 0, "chequer/internal/api": 0, "chequer/internal/signature": 0,
	"chequer/internal/keys": 0, "chequer/internal/config": 0, "chequer/internal/seal": 0, "chequer/internal/caller": 0, "chequer/internal/diskspace": 0, "chequer/internal/requestlog": 0, "chequer/internal/clock": 0, "chequer/internal/token": 0, "chequer/internal/guard": 0,
	"chequer/internal/openapi": 0, "chequer/internal/theme": 0, "chequer/internal/proof": 0, "chequer/internal/receipt": 0, "chequer/internal/locale": 0, "chequer/internal/manual": 0,
	"chequer/static": 0,

	"chequer/internal/chain": 1, "chequer/internal/client": 1, "chequer/views": 1,

	"chequer/internal/invoice": 2, "chequer/internal/merchant": 2, "chequer/internal/rates": 2, "chequer/internal/exchange": 2,
	"chequer/internal/chain/bitcoin": 2, "chequer/internal/chain/ethereum": 2, "chequer/internal/chain/simnet": 2,
	"chequer/web": 2,

	"chequer/internal/server": 3, "chequer/internal/watcher": 3, "chequer/internal/webhook": 3, "chequer/internal/sale": 3, "chequer/internal/chain/bitcoin/node": 3,
	"chequer/internal/chain/bitcoin/light": 3, "chequer/internal/chain/ethereum/quorum": 3,
	"chequer/internal/prices": 3, "chequer/internal/readiness": 3, "chequer/internal/demo": 3, "chequer/internal/loglimit": 3,

	"chequer/internal/storage": 4, "chequer/internal/networks": 4, "chequer/internal/metrics": 4,

	"chequer/internal/datadir": 5, "chequer/internal/sweep": 5,

	"chequer/internal/doctor": 6,

	"chequer/internal/app": 7,

	"chequer/cmd/chequer": 8, "chequer/internal/bench": 8, "chequer/static/generate": 8,
	"chequer/internal/api/examples/create": 8, "chequer/internal/api/examples/read": 8, "chequer/internal/api/examples/callback": 8,
}

// testOnly are the packages that only tests import.
var testOnly = map[string]bool{
	"chequer/internal/invoice/invoicetest":         true,
	"chequer/internal/chain/chaintest":             true,
	"chequer/internal/chain/bitcoin/bitcointest":   true,
	"chequer/internal/chain/ethereum/ethereumtest": true,
	"chequer/internal/storage/storagetest":         true,
	"chequer/internal/e2e":                         true,
	"chequer/internal/programtest":                 true,
	"chequer/internal/clocktest":                   true,
	"chequer/internal/logtest":                     true,
	"chequer/internal/exchange/exchangetest":       true,
}

func TestImportsPointDown(t *testing.T) {
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
		for _, i := range imports {
			switch below, known := floors[i]; {
			case testOnly[i]:
				t.Errorf("%s is part of the program, but imports %s, which is for tests", path, i)
			case known && below >= floor:
				t.Errorf("%s (floor %d) imports %s (floor %d)", path, floor, i, below)
			}
		}
	}
}

// packages returns our packages with their imports outside tests.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	command := exec.Command("go", "list", "-json=ImportPath,Imports,GoFiles", "./...")
	command.Dir = ".."
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	found := map[string][]string{}
	decoder := json.NewDecoder(bytes.NewReader(out))
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
