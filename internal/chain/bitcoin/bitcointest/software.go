package bitcointest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"golang.org/x/crypto/scrypt"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
	"chequer/internal/programtest"
)

// software is one kind of node.
type software struct {
	name  string
	asset chain.Asset
	// cookie is the file in the data directory with a user and password.
	cookie string
	path   func() string
	// arguments returns the command line, without the arguments of Option.
	arguments func(n *Node) []string
	// work returns the proof-of-work hash of a header, which must not be above the target.
	work func(header []byte) chainhash.Hash
}

var btcd = software{
	name:      "btcd",
	asset:     bitcoin.Mainnet.Asset,
	path:      func() string { return programtest.FetchedPath("btcd") },
	arguments: btcdArguments,
	work:      chainhash.DoubleHashH,
}

var litecoind = software{
	name:      "litecoind",
	asset:     bitcoin.Litecoin.Asset,
	cookie:    "regtest/.cookie",
	path:      func() string { return "litecoind" },
	arguments: litecoindArguments,
	work:      litecoinWork,
}

func btcdArguments(n *Node) []string {
	arguments := []string{
		"--regtest", "--nodnsseed", "--txindex",
		"--configfile=" + os.DevNull,
		"--datadir=" + filepath.Join(n.Dir, "data"), "--logdir=" + filepath.Join(n.Dir, "logs"),
		"--rpclisten=" + n.rpcHost(), "--rpcuser=" + n.User, "--rpcpass=" + n.Password,
		"--trickleinterval=50ms", // otherwise a transaction reaches peers after 10 s
		"--utxocachemaxsize=2",   // in MiB; it is allocated at the start
		"--rpcmaxclients=100",    // several clients of a test, and their idle connections
		"--rpcmaxwebsockets=100",
	}
	if n.Cert == "" {
		arguments = append(arguments, "--notls")
	} else {
		arguments = append(arguments, "--rpccert="+n.Cert, "--rpckey="+filepath.Join(n.Dir, "rpc.key"))
	}
	if n.P2P == "" {
		arguments = append(arguments, "--nolisten")
	} else {
		arguments = append(arguments, "--listen="+n.P2P)
	}
	for _, peer := range n.peers {
		arguments = append(arguments, "--addpeer="+peer.P2P)
	}
	return arguments
}

func litecoindArguments(n *Node) []string {
	_, port, _ := net.SplitHostPort(n.rpcHost())
	arguments := []string{
		"-regtest", "-server", "-dnsseed=0", "-discover=0", "-listenonion=0", "-printtoconsole=0", "-txindex=1",
		"-datadir=" + n.Dir,
		"-rpcbind=127.0.0.1", "-rpcallowip=127.0.0.1", "-rpcport=" + port,
		"-rpcauth=" + rpcAuth(n.User, n.Password), // with -rpcpassword it writes no cookie
		"-whitelist=noban,relay@127.0.0.0/8",      // otherwise a transaction reaches peers after 9 s
		"-mempoolreplacement=1",                   // Litecoin does not replace by default
		"-dbcache=8", "-par=1",
	}
	if n.P2P == "" {
		arguments = append(arguments, "-listen=0")
	} else {
		arguments = append(arguments, "-bind="+n.P2P)
	}
	for _, peer := range n.peers {
		arguments = append(arguments, "-addnode="+peer.P2P)
	}
	return arguments
}

// rpcHost returns the host and port of the RPC server.
func (n *Node) rpcHost() string {
	_, host, _ := strings.Cut(n.RPC, "://")
	return host
}

// rpcAuth returns a user and password in the form of Bitcoin Core's share/rpcauth.
func rpcAuth(user, password string) string {
	const salt = "test"
	mac := hmac.New(sha256.New, []byte(salt))
	mac.Write([]byte(password))
	return user + ":" + salt + "$" + hex.EncodeToString(mac.Sum(nil))
}

// litecoinWork returns Litecoin's proof-of-work hash: scrypt with N=1024, r=1, p=1.
func litecoinWork(header []byte) chainhash.Hash {
	key, err := scrypt.Key(header, header, 1024, 1, 1, chainhash.HashSize)
	if err != nil {
		panic(err) // the parameters are valid
	}
	return chainhash.Hash(key)
}
