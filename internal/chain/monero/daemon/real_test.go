package daemon_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/chain/monero/daemon"
	"chequer/internal/chain/monero/monerotest"
)

// realClient returns a client of a daemon with an address.
func realClient(t *testing.T, address string, change ...func(*daemon.Config)) *daemon.Client {
	t.Helper()
	c := daemon.Config{Address: parse(t, address), Network: daemon.Fakechain, Setting: "CHEQUER_MONERO_NODE", Now: time.Now}
	for _, change := range change {
		change(&c)
	}
	client, err := daemon.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// withLogin returns a URL with a login.
func withLogin(url, user, password string) string {
	return strings.Replace(url, "://", "://"+user+":"+password+"@", 1)
}

// TestClient_reads_a_real_daemon makes every call to monerod: with and without restricted RPC, a login and TLS.
func TestClient_reads_a_real_daemon(t *testing.T) {
	n := monerotest.Start(t, monerotest.Login())
	full := withLogin(n.URL, n.User, n.Password)
	restricted := withLogin(n.Restricted, n.User, n.Password)
	pin := "#sha256=" + hex.EncodeToString(n.Certificate)
	clients := map[string]*daemon.Client{
		"full":                realClient(t, full),
		"restricted":          realClient(t, restricted),
		"full, TLS":           realClient(t, strings.Replace(full, "http:", "https:", 1)+pin),
		"restricted with TLS": realClient(t, strings.Replace(restricted, "http:", "https:", 1)+pin),
	}

	shop := n.NewWallet(t)
	output := n.Miner.Spendable(t)
	first, rival := n.Miner.SweepSingle(t, output.KeyImage, shop.Address), n.Miner.SweepSingle(t, output.KeyImage, shop.Address)
	sentAfter := time.Now().Add(-time.Second)
	if reason := n.Submit(t, first.Hex); reason != "" {
		t.Fatalf("Submit() = %q", reason)
	}
	for name, c := range clients {
		t.Run(name, func(t *testing.T) { checkPool(t, c, first.Hash, false, sentAfter) })
	}
	if reason := n.Submit(t, rival.Hex); reason != "double spend" {
		t.Fatalf("Submit() of a double spend = %q", reason)
	}
	for name, c := range clients {
		t.Run(name+" after a double spend", func(t *testing.T) { checkPool(t, c, first.Hash, true, sentAfter) })
	}
	n.Mine(t, 1)
	height := n.Height(t)
	for name, c := range clients {
		t.Run(name+" after a block", func(t *testing.T) { checkChain(t, c, height, first.Hash, rival.Hash) })
	}
}

// checkPool checks the calls about the pool, which has one transaction.
func checkPool(t *testing.T, c *daemon.Client, hash string, doubleSpend bool, sentAfter time.Time) {
	t.Helper()
	info, _, err := c.Tip(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if info.PoolSize != 1 || (info.Version == "") != info.Restricted {
		t.Errorf("Tip() = %+v, want a pool of one transaction, and a version unless it is restricted", info)
	}
	hashes, err := c.PoolHashes(t.Context())
	if err != nil || !slices.Equal(hashes, []string{hash}) {
		t.Errorf("PoolHashes() = %v, %v, want %s", hashes, err, hash)
	}
	check := func(call string, txs []daemon.Tx, err error) {
		t.Helper()
		if err != nil || len(txs) != 1 {
			t.Errorf("%s = %d transactions, %v", call, len(txs), err)
			return
		}
		tx := txs[0]
		isRecent := tx.ReceivedAt.After(sentAfter.Truncate(time.Second).Add(-time.Second)) && !tx.ReceivedAt.After(time.Now())
		if tx.Hash != hash || !tx.InPool || tx.Height != 0 || tx.DoubleSpendSeen != doubleSpend || isRecent == info.Restricted || tx.ReceivedAt.IsZero() != info.Restricted {
			t.Errorf("%s = %+v, restricted: %t", call, tx, info.Restricted)
		}
		checkJSON(t, tx)
	}
	txs, err := c.Transactions(t.Context(), hashes)
	check("Transactions()", txs, err)
	txs, err = c.Pool(t.Context())
	if !info.Restricted || !errors.Is(err, daemon.ErrRestricted) { // from 0.18.5 on, a restricted daemon refuses the call
		check("Pool()", txs, err)
	}
}

// checkJSON checks that a transaction has the fields that the scanner reads.
func checkJSON(t *testing.T, tx daemon.Tx) {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(tx.JSON, &fields); err != nil {
		t.Errorf("JSON: %v", err)
	}
	for _, name := range []string{"version", "unlock_time", "vin", "vout", "extra", "rct_signatures"} {
		if fields[name] == nil {
			t.Errorf("JSON without %s: %s", name, tx.JSON)
		}
	}
}

// checkChain checks the calls about blocks. The newest block has a transaction whose rival is unknown.
func checkChain(t *testing.T, c *daemon.Client, height int64, hash, rival string) {
	t.Helper()
	info, tip, err := c.Tip(t.Context())
	if err != nil || tip.Height != height || tip.Hash != info.TopHash || tip.MajorVersion != 16 || info.PoolSize != 0 || time.Since(tip.Time) > time.Hour {
		t.Fatalf("Tip() = %+v, %+v, %v, want height %d", info, tip, err, height)
	}
	block, err := c.Block(t.Context(), height)
	if err != nil || block.Header != tip || !slices.Equal(block.TxHashes, []string{hash}) {
		t.Errorf("Block() = %+v, %v", block, err)
	}
	checkJSON(t, daemon.Tx{JSON: block.MinerTx})
	headers, err := c.Headers(t.Context(), 0, height)
	if err != nil || int64(len(headers)) != height+1 || headers[height] != tip || headers[height-1].Hash != tip.PrevHash {
		t.Errorf("Headers() = %d headers, %v", len(headers), err)
	}
	miner, err := c.Transactions(t.Context(), []string{block.MinerTxHash, hash, rival})
	missed, _ := errors.AsType[*daemon.MissedError](err)
	if missed == nil || !slices.Equal(missed.Hashes, []string{rival}) || len(miner) != 2 || miner[0].Hash != block.MinerTxHash || miner[1].Hash != hash ||
		miner[1].Height != height || miner[1].InPool {
		t.Errorf("Transactions() = %+v, %v, want two and an error about the rival", miner, err)
	}
	if _, err := c.Block(t.Context(), height+1); !errors.Is(err, daemon.ErrNoBlock) {
		t.Errorf("Block() above the chain = %v, want ErrNoBlock", err)
	}
	if _, err := c.Headers(t.Context(), height, height+1); !errors.Is(err, daemon.ErrNoBlock) {
		t.Errorf("Headers() above the chain = %v, want ErrNoBlock", err)
	}
	if _, err := c.HeaderOf(t.Context(), hash); !errors.Is(err, daemon.ErrNoBlock) {
		t.Errorf("HeaderOf() of an unknown block = %v, want ErrNoBlock", err)
	}
	var hashes []string
	for _, h := range headers {
		b, err := c.Block(t.Context(), h.Height)
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, b.MinerTxHash)
	}
	many := append(append([]string{}, hashes...), hashes...) // more than a hundred
	if txs, err := c.Transactions(t.Context(), many); err != nil || len(txs) != len(many) {
		t.Errorf("Transactions() of %d = %d, %v", len(many), len(txs), err)
	}
	if txs, err := c.Pool(t.Context()); len(txs) != 0 || err != nil && (!info.Restricted || !errors.Is(err, daemon.ErrRestricted)) {
		t.Errorf("Pool() of an empty pool = %v, %v", txs, err)
	}
	if hashes, err := c.PoolHashes(t.Context()); err != nil || len(hashes) != 0 {
		t.Errorf("PoolHashes() of an empty pool = %v, %v", hashes, err)
	}
}

func TestClient_explains_the_errors_of_a_real_daemon(t *testing.T) {
	n := monerotest.Start(t, monerotest.Login(), monerotest.Bare())
	address := withLogin(n.URL, n.User, n.Password)
	tls := func(address string) string { return strings.Replace(address, "http:", "https:", 1) }
	for name, test := range map[string]struct {
		address string
		is      error
		want    string
	}{
		"no login":                  {n.URL, daemon.ErrLogin, "has none"},
		"a wrong password":          {withLogin(n.URL, n.User, "wrong"), daemon.ErrLogin, "wrong user or password"},
		"no pin":                    {tls(address), daemon.ErrCertificate, "#sha256=" + hex.EncodeToString(n.Certificate)},
		"another pin":               {tls(address) + "#sha256=" + strings.Repeat("00", 32), daemon.ErrCertificate, "not the pinned one"},
		"a wrong password with TLS": {tls(withLogin(n.URL, n.User, "wrong")) + "#sha256=" + hex.EncodeToString(n.Certificate), daemon.ErrLogin, "wrong user or password"},
	} {
		if _, err := realClient(t, test.address).Info(t.Context()); !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: Info() = %v, want %q", name, err, test.want)
		}
	}
	mainnet := realClient(t, address, func(c *daemon.Config) { c.Network = daemon.Mainnet })
	if _, _, err := mainnet.Tip(t.Context()); err == nil || !strings.Contains(err.Error(), "the daemon is on fakechain, want mainnet") {
		t.Errorf("Tip() = %v", err)
	}
	c := realClient(t, address)
	for range 2 { // the second login after the restart is stale
		if _, _, err := c.Tip(t.Context()); err != nil {
			t.Errorf("Tip() = %v", err)
		}
		n.Restart(t)
	}
	n.Stop(t)
	if _, err := c.Info(t.Context()); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("Info() of a stopped daemon = %v", err)
	}
}
