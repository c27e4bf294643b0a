package daemon

import (
	"context"
	"fmt"
	"time"
)

// Network is a network of Monero, as monerod names it.
type Network string

// The networks.
const (
	Mainnet  Network = "mainnet"
	Testnet  Network = "testnet"
	Stagenet Network = "stagenet"
	// Fakechain is the network of a daemon that is started with --regtest.
	Fakechain Network = "fakechain"
)

const (
	// knownFork is the number of the newest hard fork whose blocks this program can read.
	knownFork = 16
	// maxTipAge is the age from which the newest block is too old. Blocks come every two minutes on average.
	maxTipAge = time.Hour
	// maxInfo is the maximum size of the answer about a daemon or one header, in bytes.
	maxInfo = 1 << 20
)

// Info is the answer of a daemon about itself.
type Info struct {
	Network Network
	// Height is the height of the newest block, which is one less than monerod's height, a number of blocks.
	Height  int64
	TopHash string
	// Target is the height of the newest block of the peers; zero if the daemon does not know it, or has it.
	Target       int64
	Synchronized bool
	// BusySyncing is true while the daemon downloads blocks.
	BusySyncing bool
	// Restricted is true if the RPC is restricted. Such a daemon shows only transactions that it has sent to its peers, and
	// not since when it has them.
	Restricted bool
	// StartedAt is the time at which the daemon started, zero if its RPC is restricted.
	StartedAt time.Time
	// Offline is true if the daemon has no peers by its settings.
	Offline bool
	// PoolSize is the number of transactions in the pool that the daemon shows.
	PoolSize int64
	// Version is the version of the daemon, "" if its RPC is restricted.
	Version string
}

// Info calls get_info. It does not check whether the daemon can be used; see CheckInfo.
func (c *Client) Info(ctx context.Context) (Info, error) {
	var answer struct {
		Height       uint64
		TargetHeight uint64  `json:"target_height"`
		NetType      Network `json:"nettype"`
		TopBlockHash string  `json:"top_block_hash"`
		TxPoolSize   uint64  `json:"tx_pool_size"`
		BusySyncing  bool    `json:"busy_syncing"`
		StartTime    uint64  `json:"start_time"`
		Synchronized bool
		Restricted   bool
		Offline      bool
		Version      string
	}
	const method = "get_info"
	if err := c.call(ctx, method, map[string]any{}, maxInfo, &answer); err != nil {
		return Info{}, err
	}
	info := Info{
		Network: answer.NetType, TopHash: answer.TopBlockHash, Synchronized: answer.Synchronized, BusySyncing: answer.BusySyncing,
		Restricted: answer.Restricted, Offline: answer.Offline, Version: answer.Version,
	}
	if answer.Height == 0 || answer.NetType == "" {
		return Info{}, c.wrap(method, fmt.Errorf("%w: no height or no network", ErrAnswer))
	}
	var err error
	if info.Height, err = checkHeight(answer.Height - 1); err != nil {
		return Info{}, c.wrap(method, err)
	}
	if answer.TargetHeight > 0 {
		if info.Target, err = checkHeight(answer.TargetHeight - 1); err != nil {
			return Info{}, c.wrap(method, err)
		}
	}
	if info.PoolSize, err = checkHeight(answer.TxPoolSize); err != nil { // a number of the same size
		return Info{}, c.wrap(method, err)
	}
	if info.StartedAt, err = checkTime(answer.StartTime); err != nil {
		return Info{}, c.wrap(method, err)
	}
	if err := checkHash(info.TopHash); err != nil {
		return Info{}, c.wrap(method, err)
	}
	return info, nil
}

// CheckInfo returns a *NetworkError if the daemon is not on the network of the settings, or a *BehindError if it lacks
// blocks.
func (c *Client) CheckInfo(info Info) error {
	switch {
	case info.Network != c.config.Network:
		return &NetworkError{Got: info.Network, Want: c.config.Network, Setting: c.config.Setting}
	case !info.Synchronized || info.BusySyncing || info.Height < info.Target:
		return &BehindError{Height: info.Height, Target: info.Target}
	}
	return nil
}

// CheckTip returns a *ForkError if the daemon's newest block is of an unknown hard fork, or an *OldTipError if it is older
// than an hour. On Fakechain a block may have any age.
func (c *Client) CheckTip(tip Header) error {
	if err := checkFork(tip); err != nil {
		return err
	}
	if age := c.config.Now().Sub(tip.Time); age >= maxTipAge && c.config.Network != Fakechain {
		return &OldTipError{Height: tip.Height, Age: age}
	}
	return nil
}

// Tip returns the answer of Info and the header of the newest block. The error is that of CheckInfo or CheckTip if the
// daemon cannot be used. Then Info is set, and after an error of CheckTip the header is set, too.
func (c *Client) Tip(ctx context.Context) (Info, Header, error) {
	info, err := c.Info(ctx)
	if err != nil {
		return Info{}, Header{}, err
	}
	if err := c.CheckInfo(info); err != nil {
		return info, Header{}, c.wrap("get_info", err)
	}
	tip, err := c.HeaderOf(ctx, info.TopHash)
	if err != nil {
		return info, Header{}, err
	}
	if tip.Height != info.Height {
		return info, Header{}, c.wrap("get_info", fmt.Errorf("%w: newest block %s at height %d has height %d", ErrAnswer, info.TopHash, info.Height, tip.Height))
	}
	return info, tip, c.wrap("get_info", c.CheckTip(tip))
}
