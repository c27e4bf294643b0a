package backup

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
)

// Sealer compresses its input and encrypts it with a passphrase. The command "age -d FILE | gunzip"
// decrypts the output without this program. See age-encryption.org/v1.
type Sealer struct {
	*gzip.Writer
	encryption io.Closer
}

// NewSealer returns a new Sealer that writes to w. It compresses at the fastest level, because
// most of the time of a backup is spent on compression, and slower levels make random data such as
// hashes hardly smaller. Each check of the passphrase takes 2^work steps; a work of 0 means 18.
func NewSealer(w io.Writer, passphrase string, work int) (*Sealer, error) {
	recipient, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return nil, err
	}
	if work > 0 {
		recipient.SetWorkFactor(work)
	}
	outer, err := age.Encrypt(w, recipient)
	if err != nil {
		return nil, err
	}
	compressed, err := gzip.NewWriterLevel(outer, gzip.BestSpeed)
	return &Sealer{Writer: compressed, encryption: outer}, err
}

// Close completes the file.
func (s *Sealer) Close() error { return errors.Join(s.Writer.Close(), s.encryption.Close()) }

// Unseal returns a reader of the data that a Sealer compressed and encrypted into f. Damage is reported by
// Unseal or while the data is read. The errors include ErrPassphrase and ErrDamaged.
func Unseal(f io.ReadSeeker, passphrase string) (io.Reader, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	identity, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		return nil, err
	}
	decrypted, err := age.Decrypt(f, identity)
	if errors.Is(err, age.ErrIncorrectIdentity) {
		return nil, ErrPassphrase
	}
	if err != nil { // the error quotes the file, which may be another file with secrets
		return nil, fmt.Errorf("%w, or it is not a backup", ErrDamaged)
	}
	r, err := gzip.NewReader(decrypted)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return r, nil
}
