package storage

// SetSumBatch sets the number of invoices that one transaction adds to the day sums.
func SetSumBatch(s *Storage, n int) { s.sumBatch = n }

// SetCompared sets the number of newest paid invoices whose days DaySumsDiffer compares.
func SetCompared(s *Storage, n int) { s.compared = n }
