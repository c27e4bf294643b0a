package storage

// SetSumBatch sets the number of invoices of a part of the sums of days.
func SetSumBatch(s *Storage, n int) { s.sumBatch = n }
