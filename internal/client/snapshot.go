package client

import "chequer/internal/api"

// Snapshot is an invoice as it was read, with the tag that WaitInvoice compares.
type Snapshot struct {
	Resource api.Resource
	ETag     string
	Look     string // hash of its merchant's look; empty for ours
}
