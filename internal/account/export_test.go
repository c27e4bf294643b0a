package account

// Quick makes the hashes of passwords cheap.
func (s *Service) Quick() {
	s.cost = cost{time: 1, memory: 64, threads: 1}
	s.absent = s.cost.absent()
}

// Absent returns the hash that names without an account are compared with.
func (s *Service) Absent() string { return s.absent }

// DefaultAbsent returns that hash with the cost of the program, and HashDefault the hash of a password.
func DefaultAbsent() string { return defaultCost.absent() }

// HashDefault returns the hash of a password with the cost of the program.
func HashDefault(password string) string { return defaultCost.hashPassword(password) }

// CheckHash reports whether a hash is that of a password.
func CheckHash(hash, password string) bool { return checkPassword(hash, password) }
