package invoice

import "time"

// UnpaidWindow is the age up to which an unpaid invoice counts towards an UnpaidLimit.
const UnpaidWindow = 15 * time.Minute

// UnpaidLimit limits the invoices created by callers that do not sign with the merchant's key. An
// invoice counts while its status is Created and it is younger than UnpaidWindow.
type UnpaidLimit struct {
	Group string // group of callers that are counted together; "" = all callers
	Most  int
}
