package client

import "chequer/internal/api"

// Snapshot is an invoice at the time of reading, with the tag that WaitInvoice compares.
type Snapshot struct {
	Resource api.Resource
	ETag     string
	Theme    string // hash of its merchant's theme; empty for the default theme
	// MerchantID is the ID of its merchant; empty for a service that does not name it.
	MerchantID string
}
