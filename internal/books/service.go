package books

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/proof"
	"chequer/internal/sweep/recorded"
)

// The errors of closing.
var (
	// ErrClosed means that the month is closed already.
	ErrClosed = errors.New("is closed already")
	// ErrNotOver means that the month has not ended in the time zone of the books.
	ErrNotOver = errors.New("is not over")
	// ErrOpen means that the outcome of a movement of the month is not known yet.
	ErrOpen = errors.New("is not final")
	// ErrNotClosed means that the month is not closed.
	ErrNotClosed = errors.New("is not closed")
	// ErrChain means that a statement does not follow the given statement of the month before.
	ErrChain = errors.New("does not follow the given statement of the month before")
	// ErrChanged means that a closed month differs from its signed statement.
	ErrChanged = errors.New("differs from its signed statement")
)

// Changed is an invoice that has changed since a closing examined it.
type Changed struct {
	InvoiceID string
	Revision  int64 // of the stored invoice
}

// Closing is a closed month.
type Closing struct {
	MerchantID string
	Month      Month
	ClosedAt   time.Time
	Lines      int
	Header     string // of the file
	Statement  string // signed, see proof.Closing
	After      Month  // the month closed before; empty if there was none
}

// isFirst reports whether no month was closed before.
func (c Closing) isFirst() bool { return strings.Contains(c.Statement, "\n"+proof.NoPrevious+"\n") }

// Record is a line of a closed month as it is stored.
type Record struct {
	Movement string // ID of the movement
	Owner    string // ID of the invoice or of the sweep
	Month    Month
	Header   string // of the file of the month
	Text     string // the row of the file
}

// Storage stores closings.
type Storage interface {
	// ChangedInvoices returns the live invoices of a merchant that have a transfer and have changed since a closing examined them, sorted by
	// ID, beginning after the given one.
	ChangedInvoices(ctx context.Context, merchantID, after string, limit int) ([]Changed, error)
	// Invoice returns an invoice.
	Invoice(ctx context.Context, id string) (*invoice.Invoice, error)
	// Sweeps returns the newest sweeps of a merchant.
	Sweeps(ctx context.Context, merchantID string, limit int) ([]recorded.Sweep, error)
	// ClosedRecords returns the lines of an owner in closed months, in order.
	ClosedRecords(ctx context.Context, merchantID, owner string) ([]Record, error)
	// Closings returns the closed months of a merchant, oldest first.
	Closings(ctx context.Context, merchantID string) ([]Closing, error)
	// MonthRecords returns the rows of the file of a closed month, in order.
	MonthRecords(ctx context.Context, merchantID string, month Month) ([]string, error)
	// SaveClosing stores a closing with its lines, and which invoices it has examined. The error is ErrClosed if the month is closed
	// already, or if After is not the newest closed month.
	SaveClosing(ctx context.Context, c Closing, lines []Record, examined []Changed) error
}

// Signer signs statements.
type Signer interface {
	// SignClosing returns the signed text of a statement.
	SignClosing(ctx context.Context, c proof.Closing) (string, error)
}

// Shop is the shop whose books are closed.
type Shop struct {
	ID     string
	Server string // base address of the server
	Zone   *time.Location
}

// Service closes months. It is safe for concurrent use.
type Service struct {
	storage Storage
	signer  Signer
	now     func() time.Time
}

// NewService returns a Service.
func NewService(storage Storage, signer Signer, now func() time.Time) *Service {
	return &Service{storage, signer, now}
}

// File is the file of a month, with the lines that it contains.
type File struct {
	Month     Month
	Lines     []Line
	CSV       string // canonical
	Statement string // signed; empty if the month is not closed
}

// owned is a movement with the invoice or the sweep that it belongs to.
type owned struct {
	Movement
	owner string
}

// collection has the movements that are in no closed month.
type collection struct {
	closings []Closing
	first    Month // the first month that is not closed
	// removed is the end of the closed months that were removed with the books; zero if none were. Movements before it are not added again.
	removed  time.Time
	added    []owned
	months   map[Month][]owned // added by month, in order
	examined []Changed         // invoices without movements for later months
	open     []Open
}

// The number of invoices that are read at once, and of the newest sweeps, whose rows are compared. Older ones have their final states.
const (
	pageSize  = 500
	maxSweeps = 10_000
)

// collect reads the movements up to a month that are in none of the closed months.
func (s *Service) collect(ctx context.Context, shop Shop, closings []Closing, last Month) (*collection, error) {
	c := &collection{closings: closings}
	if n := len(c.closings); n > 0 {
		c.first = c.closings[n-1].Month.Next()
		if !c.closings[0].isFirst() {
			c.removed = c.closings[0].Month.period().Start(shop.Zone)
		}
	}
	end := last.End(shop.Zone)
	for after := ""; ; {
		page, err := s.storage.ChangedInvoices(ctx, shop.ID, after, pageSize)
		if err != nil {
			return nil, err
		}
		for _, changed := range page {
			inv, err := s.storage.Invoice(ctx, changed.InvoiceID)
			if _, broken := errors.AsType[*invoice.UnreadableError](err); broken {
				c.open = append(c.open, Open{What: "invoice " + changed.InvoiceID + ", which cannot be read"})
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("invoice %s: %w", changed.InvoiceID, err)
			}
			movements, open := movementsOf(inv, shop.Zone)
			later, err := s.add(ctx, c, shop, inv.ID, movements, end)
			if err != nil {
				return nil, err
			}
			c.open = append(c.open, open...)
			if later+len(open) == 0 {
				c.examined = append(c.examined, changed)
			}
		}
		if len(page) < pageSize {
			break
		}
		after = page[len(page)-1].InvoiceID
	}
	sweeps, err := s.storage.Sweeps(ctx, shop.ID, maxSweeps)
	if err != nil {
		return nil, err
	}
	for _, sweep := range sweeps {
		movements, open := sweepMovements(sweep, shop.Zone)
		if _, err := s.add(ctx, c, shop, sweep.Plan.ID, movements, end); err != nil {
			return nil, err
		}
		c.open = append(c.open, open...)
	}
	c.open = slices.DeleteFunc(c.open, func(o Open) bool { return !o.Since.Before(end) })
	c.assign(shop, last)
	return c, nil
}

// add adds the movements and corrections of an invoice or a sweep that are in no closed month. It returns the number of movements from end
// on.
func (s *Service) add(ctx context.Context, c *collection, shop Shop, owner string, movements []Movement, end time.Time) (later int, err error) {
	var closed []Closed
	if len(c.closings) > 0 {
		records, err := s.storage.ClosedRecords(ctx, shop.ID, owner)
		if err != nil {
			return 0, err
		}
		for _, r := range records {
			line, err := parseRecord(r.Header, r.Text)
			if err != nil {
				return 0, fmt.Errorf("line of %s in %s: %w", owner, r.Month, err)
			}
			closed = append(closed, Closed{r.Month, r.Movement, line})
		}
	}
	added, later := compare(movements, closed, end)
	for _, m := range added {
		if !m.ReceivedAt.Before(c.removed) {
			c.added = append(c.added, owned{m, owner})
		}
	}
	return later, nil
}

// assign puts each movement into its month. Movements of closed months, and corrections, belong to the first month that is not closed.
func (c *collection) assign(shop Shop, last Month) {
	if c.first == "" {
		c.first = last
		for _, o := range c.added {
			c.first = min(c.first, MonthOf(o.ReceivedAt, shop.Zone))
		}
	}
	c.months = map[Month][]owned{}
	slices.SortFunc(c.added, owned.compare)
	for _, o := range c.added {
		month := c.first
		if o.Kind != Correction {
			month = max(month, MonthOf(o.ReceivedAt, shop.Zone))
		}
		c.months[month] = append(c.months[month], o)
	}
}

// compare orders by the time of receipt, the corrections last.
func (o owned) compare(p owned) int {
	rank := func(kind Kind) int {
		if kind == Correction {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(rank(o.Kind), rank(p.Kind)), o.ReceivedAt.Compare(p.ReceivedAt), cmp.Compare(o.ID, p.ID))
}

// lines numbers the movements of a month, and returns the rows of its file.
func (c *collection) lines(month Month) (list []Line, records []Record) {
	for i, o := range c.months[month] {
		o.Number = i + 1
		list = append(list, o.Line)
		records = append(records, Record{o.ID, o.owner, month, header(), o.record()})
	}
	return list, records
}

// Close closes last and all earlier months that are not closed, and returns their files. If leaveOpen is true, a movement whose outcome is
// not known goes into the first month that is closed after the outcome is known. The errors are ErrClosed, ErrNotOver, ErrOpen, and those of
// the signer and the storage.
func (s *Service) Close(ctx context.Context, shop Shop, last Month, leaveOpen bool) ([]File, error) {
	now := s.now()
	if now.Before(last.End(shop.Zone)) {
		return nil, fmt.Errorf("%s %w: it ends at %s", last, ErrNotOver, last.End(shop.Zone).Format(time.RFC3339))
	}
	closings, err := s.storage.Closings(ctx, shop.ID)
	if err != nil {
		return nil, fmt.Errorf("close %s: %w", last, err)
	}
	if n := len(closings); n > 0 && last <= closings[n-1].Month {
		return nil, fmt.Errorf("%s %w", last, ErrClosed)
	}
	c, err := s.collect(ctx, shop, closings, last)
	if err != nil {
		return nil, fmt.Errorf("close %s: %w", last, err)
	}
	if len(c.open) > 0 && !leaveOpen {
		return nil, openError(c.open, last)
	}
	previous, before := "", Month("")
	if n := len(closings); n > 0 {
		previous, before = hash(closings[n-1].Statement), closings[n-1].Month
	}
	var files []File
	for month := c.first; month <= last; month = month.Next() {
		lines, records := c.lines(month)
		file := File{Month: month, Lines: lines, CSV: fileOf(header(), records)}
		file.Statement, err = s.signer.SignClosing(ctx, proof.Closing{
			Server: shop.Server, Shop: shop.ID, Month: string(month), Zone: shop.Zone.String(), ClosedAt: now,
			Lines: len(lines), SHA256: hash(file.CSV), Previous: previous,
		})
		if err != nil {
			return files, closeError(month, files, err)
		}
		var examined []Changed
		if month == last {
			examined = c.examined
		}
		closing := Closing{MerchantID: shop.ID, Month: month, ClosedAt: now, Lines: len(lines), Header: header(), Statement: file.Statement, After: before}
		if err := s.storage.SaveClosing(ctx, closing, records, examined); err != nil {
			return files, closeError(month, files, err)
		}
		files, previous, before = append(files, file), hash(file.Statement), month
	}
	return files, nil
}

// closeError returns the error of closing a month, with the months that were closed before it.
func closeError(month Month, closed []File, err error) error {
	if len(closed) == 0 {
		return fmt.Errorf("close %s: %w", month, err)
	}
	return fmt.Errorf("%s to %s are closed, but %s is not: %w", closed[0].Month, closed[len(closed)-1].Month, month, err)
}

// maxNamed is the number of open movements that an error names.
const maxNamed = 5

// openError returns ErrOpen with the names of what is open.
func openError(open []Open, month Month) error {
	var names []string
	for _, o := range open[:min(len(open), maxNamed)] {
		names = append(names, o.What)
	}
	if rest := len(open) - len(names); rest > 0 {
		names = append(names, fmt.Sprintf("%d more", rest))
	}
	return fmt.Errorf("%s %w: %s", month, ErrOpen, strings.Join(names, ", "))
}

// Month returns the file of a month. If the month is not closed, the file has the lines that closing it now would write, and no statement.
func (s *Service) Month(ctx context.Context, shop Shop, month Month) (File, error) {
	closings, err := s.storage.Closings(ctx, shop.ID)
	if err != nil {
		return File{}, err
	}
	i, isClosed := slices.BinarySearchFunc(closings, month, func(c Closing, m Month) int { return cmp.Compare(c.Month, m) })
	if isClosed {
		return s.closed(ctx, closings[i])
	}
	if n := len(closings); n > 0 && month < closings[n-1].Month {
		return File{}, fmt.Errorf("%s %w, and a later month is: the books begin later, or its lines were removed", month, ErrNotClosed)
	}
	c, err := s.collect(ctx, shop, closings, month)
	if err != nil {
		return File{}, err
	}
	lines, records := c.lines(month)
	return File{Month: month, Lines: lines, CSV: fileOf(header(), records)}, nil
}

// closed returns the file of a closed month as it is stored.
func (s *Service) closed(ctx context.Context, c Closing) (File, error) {
	file := File{Month: c.Month, Statement: c.Statement}
	rows, err := s.storage.MonthRecords(ctx, c.MerchantID, c.Month)
	if err != nil {
		return File{}, err
	}
	for _, row := range rows {
		line, err := parseRecord(c.Header, row)
		if err != nil {
			return File{}, fmt.Errorf("read %s: %w", c.Month, err)
		}
		file.Lines = append(file.Lines, line)
	}
	file.CSV = c.Header + strings.Join(rows, "")
	return file, nil
}

// Closings returns the closed months of a shop, oldest first.
func (s *Service) Closings(ctx context.Context, shopID string) ([]Closing, error) {
	return s.storage.Closings(ctx, shopID)
}

// fileOf returns the canonical file: the header and the rows.
func fileOf(header string, records []Record) string {
	var b strings.Builder
	b.WriteString(header)
	for _, r := range records {
		b.WriteString(r.Text)
	}
	return b.String()
}

// hash returns the SHA-256 of a text in hexadecimal digits.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
