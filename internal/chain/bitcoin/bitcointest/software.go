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

// software is what one kind of node has of its own.
type software struct {
	name  string
	asset chain.Asset
	// cookie is the file in the data directory that a user and password are in.
	cookie string
	path   func() string
	// arguments are the command line, without those that a test adds.
	arguments func(n *Node) []string
	// work is the hash of a header that must be below the target.
	work func(header []byte) chainhash.Hash
}

var btcd = software{
	name:      "btcd",
	asset:     bitcoin.Mainnet.Asset,
	path:      func() string { return programtest.Fetched("btcd") },
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
		"--trickleinterval=50ms", // 10 s pass otherwise until peers hear of a transaction
		"--utxocachemaxsize=2",   // it is allocated at once
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
		"-rpcauth=" + rpcAuth(n.User, n.Password), // with -rpcpassword it would write no cookie
		"-whitelist=noban,relay@127.0.0.0/8",      // 9 s pass otherwise until peers hear of a transaction
		"-mempoolreplacement=1",                   // Litecoin's default is the first seen
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

// rpcHost is the host and port of the RPC server.
func (n *Node) rpcHost() string {
	_, host, _ := strings.Cut(n.RPC, "://")
	return host
}

// rpcAuth is a user and password as Bitcoin Core's share/rpcauth writes them.
func rpcAuth(user, password string) string {
	const salt = "lab"
	mac := hmac.New(sha256.New, []byte(salt))
	mac.Write([]byte(password))
	return user + ":" + salt + "$" + hex.EncodeToString(mac.Sum(nil))
}

// litecoinWork is Litecoin's proof of work: scrypt with N=1024, r=1, p=1.
func litecoinWork(header []byte) chainhash.Hash {
	key, err := scrypt.Key(header, header, 1024, 1, 1, chainhash.HashSize)
	if err != nil {
		panic(err) // the parameters are right
	}
	return chainhash.Hash(key)
}
