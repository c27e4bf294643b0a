package light

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/wire"
	"github.com/btcsuite/btcwallet/walletdb"
)

// Buckets of the database, in addition to those of neutrino.
var (
	aboutBucket   = []byte("chequer")
	waitingBucket = []byte("chequer-waiting") // records by transaction
	networkKey    = []byte("network")
)

// store saves relevant transactions across restarts.
type store struct{ db walletdb.DB }

// record is a stored entry.
type record struct {
	ID     chainhash.Hash `json:"-"`
	Raw    []byte         `json:"raw"`
	Groups []group        `json:"groups"`
	First  time.Time      `json:"first"`
	Seen   time.Time      `json:"seen,omitzero"`
	Last   time.Time      `json:"last"`
	Payer  bool           `json:"payer"`
}

// openStore creates the buckets. It returns an error if the database is of another network.
func openStore(db walletdb.DB, network string) (*store, error) {
	return &store{db}, walletdb.Update(db, func(tx walletdb.ReadWriteTx) error {
		metadata, err := tx.CreateTopLevelBucket(aboutBucket)
		if err != nil {
			return err
		}
		if _, err := tx.CreateTopLevelBucket(waitingBucket); err != nil {
			return err
		}
		if stored := metadata.Get(networkKey); stored != nil && string(stored) != network {
			return fmt.Errorf("database of network %s, want %s", stored, network)
		}
		return metadata.Put(networkKey, []byte(network))
	})
}

func (s *store) load() (records []record, err error) {
	err = walletdb.View(s.db, func(tx walletdb.ReadTx) error {
		return tx.ReadBucket(waitingBucket).ForEach(func(id, value []byte) error {
			var r record
			if err := json.Unmarshal(value, &r); err != nil {
				return fmt.Errorf("transaction %x: %w", id, err)
			}
			copy(r.ID[:], id)
			records = append(records, r)
			return nil
		})
	})
	return records, err
}

func (s *store) save(records []record, deletes []chainhash.Hash) error {
	return walletdb.Update(s.db, func(tx walletdb.ReadWriteTx) error {
		bucket := tx.ReadWriteBucket(waitingBucket)
		for _, r := range records {
			value, err := json.Marshal(r)
			if err != nil {
				return err
			}
			if err := bucket.Put(r.ID[:], value); err != nil {
				return err
			}
		}
		for _, id := range deletes {
			if err := bucket.Delete(id[:]); err != nil {
				return err
			}
		}
		return nil
	})
}

// decode decodes a transaction.
func decode(raw []byte) (*wire.MsgTx, error) {
	tx := new(wire.MsgTx)
	return tx, tx.Deserialize(bytes.NewReader(raw))
}
