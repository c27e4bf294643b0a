package storage

// SetSumBatch sets the number of invoices of a part of the sums of days.
func SetSumBatch(s *Storage, n int) { s.sumBatch = n }

// SetCompared sets the number of the newest paid invoices whose days DaySumsDiffer compares.
func SetCompared(s *Storage, n int) { s.compared = n }
