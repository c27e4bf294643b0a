package storage_test

import (
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"chequer/internal/invoice"
	"chequer/internal/storage/storagetest"
)

// The names of storagetest that nearly every test uses.
var (
	engines      = storagetest.Engines
	noon         = storagetest.Noon
	onBoth       = storagetest.OnBoth
	open         = storagetest.Open
	box          = storagetest.Box
	rows         = storagetest.Rows
	execSQL      = storagetest.Exec
	database     = storagetest.Database
	dump         = storagetest.Dump
	addMerchants = storagetest.AddMerchants
	newInvoice   = storagetest.NewInvoice
	newEvent     = storagetest.NewEvent
	creation     = storagetest.Creation
	create       = storagetest.Create
	checkFeed    = storagetest.CheckFeed
	backUp       = storagetest.BackUp
	restore      = storagetest.Restore
)

// same compares a written invoice with the invoice that was read. Empty and nil lists are equal, and events
// are ignored, because they are not read with the invoice.
var same = cmp.Options{
	cmpopts.EquateEmpty(),
	cmpopts.IgnoreFields(invoice.Invoice{}, "Events"),
}

// unchecked is a check that accepts every value.
func unchecked[T any](T) error { return nil }
