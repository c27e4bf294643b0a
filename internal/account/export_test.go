package account

import "context"

// Quick makes the hashes of passwords cheap.
func (s *Service) Quick() {
	s.cost = cost{time: 1, memory: 64, threads: 1}
	s.absent = s.cost.absent()
}

// Absent returns the hash that names without an account are compared with.
func (s *Service) Absent() string { return s.absent }

// DefaultAbsent returns the hash that Absent returns, with the cost of the program.
func DefaultAbsent() string { return defaultCost.absent() }

// HashDefault returns the hash of a password with the cost of the program.
func HashDefault(ctx context.Context, password string) (string, error) {
	return defaultCost.hashPassword(ctx, password)
}

// CheckHash reports whether a hash is that of a password.
func CheckHash(ctx context.Context, hash, password string) (bool, error) {
	return matchesHash(ctx, hash, password)
}

// Hashing blocks the calculation of hashes until release is called.
func Hashing() (release func()) {
	hashing <- struct{}{}
	return func() { <-hashing }
}
