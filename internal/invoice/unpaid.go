package invoice

import "time"

// UnpaidWindow is how long an unpaid invoice counts towards an UnpaidLimit.
const UnpaidWindow = 15 * time.Minute

// UnpaidLimit limits the invoices that callers without a key of the merchant create.
// An invoice counts while its status is Created and it is younger than UnpaidWindow.
type UnpaidLimit struct {
	Group string // of callers that are counted together; "" = all of them
	Most  int
}
