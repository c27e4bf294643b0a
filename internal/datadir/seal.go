package datadir

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"

	"chequer/internal/storage"
)

// errPassphrase means that a backup cannot be decrypted.
var errPassphrase = errors.New("the passphrase is wrong, or the beginning of the backup is damaged")

// sealingWriter compresses its input and encrypts it with a passphrase. In an emergency "age -d
// FILE | gunzip" decrypts it. See age-encryption.org/v1.
type sealingWriter struct {
	*gzip.Writer
	outer io.Closer
}

func newSealingWriter(w io.Writer, passphrase string, work int) (*sealingWriter, error) {
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
	return &sealingWriter{Writer: gzip.NewWriter(outer), outer: outer}, nil
}

// Close completes the file.
func (s *sealingWriter) Close() error { return errors.Join(s.Writer.Close(), s.outer.Close()) }

// openBackup returns a reader of the output of a sealingWriter, from the beginning of a file.
// Damage is reported by openBackup or while the content is read.
func openBackup(f io.ReadSeeker, passphrase string) (io.Reader, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	identity, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		return nil, err
	}
	packed, err := age.Decrypt(f, identity)
	if errors.Is(err, age.ErrIncorrectIdentity) {
		return nil, errPassphrase
	}
	if err != nil { // the error quotes the file, which may be a secret file
		return nil, fmt.Errorf("%w, or no backup at all", storage.ErrDamaged)
	}
	r, err := gzip.NewReader(packed)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", storage.ErrDamaged, err)
	}
	return r, nil
}
