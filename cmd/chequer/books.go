package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"chequer/internal/books"
	"chequer/internal/chain"
	"chequer/internal/console"
	"chequer/internal/format"
	"chequer/internal/proof"
	"chequer/internal/sweep"
)

// books returns the group of commands about the books.
func (s *shell) books() *cobra.Command {
	return console.Group("books", "Close months, export their lines for an accountant, verify them",
		s.booksClose(), s.booksList(), s.booksExport(), s.booksVerify(), s.booksReconcile())
}

// books returns the service of the books, and the shop.
func (call invocation) books() (*books.Service, books.Shop) {
	shop := books.Shop{ID: call.shop.ID, Server: call.cfg.BaseURL, Zone: call.shop.Choices.Zone()}
	return books.NewService(call.core.Storage, call.core.Proofs, call.core.Now), shop
}

// closedMonth is a closed month as it is printed.
type closedMonth struct {
	Month     string `json:"month"`
	ClosedAt  string `json:"closed_at"`
	Lines     int    `json:"lines"`
	Statement string `json:"statement"`
}

func (s *shell) booksClose() *cobra.Command {
	var leaveOpen bool
	c := &cobra.Command{
		Use:   "close MONTH",
		Short: "Close a month, and the months before it: its lines do not change any more",
		Long: `Writes a line for each payment, refund, conversion and row of a sweep of the month, in the time zone of the books, and signs
a statement with the SHA-256 of the file. What changes afterwards is a correction in the month that is closed next. A
month is closed when it is over and everything in it is final. Test money is not in the books.`,
		Example: "  chequer books close 2026-11",
		Args:    console.Arguments,
		RunE: answer(s, func(call invocation) ([]closedMonth, error) {
			month, err := books.ParseMonth(call.args[0])
			if err != nil {
				return nil, err
			}
			service, shop := call.books()
			files, err := service.Close(call.Context(), shop, month, leaveOpen)
			if errors.Is(err, books.ErrOpen) {
				err = fmt.Errorf("%w; wait, or leave it for a later month with --leave-open", err)
			}
			return convertAll(files, func(f books.File) closedMonth {
				return closedMonth{string(f.Month), console.Stamp(call.core.Now()), len(f.Lines), f.Statement}
			}), err
		}, func(w io.Writer, closed []closedMonth) {
			for _, c := range closed {
				fmt.Fprintf(w, "%s is closed: %s. chequer books export %s writes its file.\n", c.Month, format.Plural(c.Lines, "line"), c.Month)
			}
		}),
	}
	c.Flags().BoolVar(&leaveOpen, "leave-open", false, "close the month without what is not final, which goes into a later month")
	return c
}

func (s *shell) booksList() *cobra.Command {
	return list(s, "list", "List the closed months", func(call invocation) ([]closedMonth, error) {
		service, shop := call.books()
		closings, err := service.Closings(call.Context(), shop.ID)
		return convertAll(closings, func(c books.Closing) closedMonth {
			return closedMonth{string(c.Month), console.Stamp(c.ClosedAt), c.Lines, c.Statement}
		}), err
	}, "MONTH\tCLOSED\tLINES", func(c closedMonth) []any {
		return []any{c.Month, s.Time(c.ClosedAt), c.Lines}
	})
}

// writtenFile is a file as it is printed.
type writtenFile struct {
	Name string `json:"file"`
}

func (s *shell) booksExport() *cobra.Command {
	var dialect, directory, year string
	var options books.DATEVOptions
	var accounts []string
	c := &cobra.Command{
		Use:   "export MONTH",
		Short: "Write the file of a month",
		Long: `Writes the lines of a month. csv is the file whose SHA-256 is signed, with its statement beside it. A month that is not
closed is written as a draft, which can still change. datev writes bookings in euro, without tax keys: ask the tax adviser
for the numbers and the accounts, and try the file with DATEV's own test program. Lines without a value in euro have no
booking.`,
		Example: `  chequer books export 2026-11
  chequer books export 2026-11 --as excel-de
  chequer books export 2026-11 --as datev --adviser 1001 --client 1 --account-length 4 \
    --account coins=1360 --account clearing=1361`,
		Args: console.Arguments,
		RunE: answer(s, func(call invocation) ([]writtenFile, error) {
			if err := checkWord("dialect", dialect, books.Dialects); err != nil {
				return nil, err
			}
			month, err := books.ParseMonth(call.args[0])
			if err != nil {
				return nil, err
			}
			if err := setAccounts(&options, accounts, year); err != nil {
				return nil, err
			}
			service, shop := call.books()
			file, err := service.Month(call.Context(), shop, month)
			if err != nil {
				return nil, err
			}
			exported, err := file.Export(books.Dialect(dialect), options, call.core.Now())
			if err != nil {
				return nil, err
			}
			paths, err := writeFiles(directory, convertAll(exported, func(f books.Exported) newFile { return newFile{f.Name, f.Content} }), "")
			return convertAll(paths, func(path string) writtenFile { return writtenFile{path} }), err
		}, func(w io.Writer, written []writtenFile) {
			for _, f := range written {
				fmt.Fprintln(w, f.Name)
			}
		}),
	}
	flags := c.Flags()
	flags.StringVar(&dialect, "as", string(books.CSV), "csv, excel-de (semicolons and decimal commas) or datev")
	flags.StringVar(&directory, "directory", ".", "where the files are written")
	flags.IntVar(&options.Adviser, "adviser", 0, "for datev: number of the tax adviser")
	flags.IntVar(&options.Client, "client", 0, "for datev: number of the client")
	flags.IntVar(&options.AccountLength, "account-length", 0, "for datev: digits of the accounts")
	flags.StringVar(&year, "fiscal-year", "", "for datev: first day of the fiscal year (default 1 January)")
	flags.StringArrayVar(&accounts, "account", nil, "for datev: NAME=NUMBER with the name "+strings.Join(books.Accounts, ", ")+"; may be repeated")
	return c
}

// setAccounts sets the accounts and the fiscal year of a batch of bookings from flags.
func setAccounts(o *books.DATEVOptions, accounts []string, year string) error {
	for _, text := range accounts {
		name, number, _ := strings.Cut(text, "=")
		account := o.Account(name)
		if account == nil {
			return fmt.Errorf("--account %s: the name must be one of %s", text, strings.Join(books.Accounts, ", "))
		}
		*account = number
	}
	if year == "" {
		return nil
	}
	var err error
	if o.FiscalYear, err = time.Parse(time.DateOnly, year); err != nil {
		return fmt.Errorf("--fiscal-year %q is not a day such as 2026-01-01", year)
	}
	return nil
}

// verifiedMonth is a verified month as it is printed.
type verifiedMonth struct {
	Server   string `json:"server"`
	Shop     string `json:"shop"`
	Month    string `json:"month"`
	ClosedAt string `json:"closed_at"`
	Lines    int    `json:"lines"`
	SHA256   string `json:"sha256"`
	// Follows is true if the statement names that of the month before, which was verified too.
	Follows bool `json:"follows_previous"`
}

func (s *shell) booksVerify() *cobra.Command {
	var keys []string
	write := func(w io.Writer, verified []verifiedMonth) {
		console.WriteTable(w, "MONTH\tSHOP\tCLOSED\tLINES\tSHA-256\tFOLLOWS", verified, func(v verifiedMonth) []any {
			return []any{v.Month, v.Shop, s.Time(v.ClosedAt), v.Lines, v.SHA256, v.Follows}
		})
	}
	stored := answer(s, func(call invocation) ([]verifiedMonth, error) {
		trusted, err := call.trustedKeys(keys)
		if err != nil {
			return nil, err
		}
		if len(call.args) > 0 {
			return verifyBooks(call.args, trusted)
		}
		service, shop := call.books()
		verified, err := service.VerifyStored(call.Context(), shop.ID, trusted)
		return verifiedMonths(verified), err
	}, write)
	c := &cobra.Command{
		Use:   "verify [FILE…]",
		Short: "Check closed months against their signed statements",
		Long: `Checks files that chequer books export wrote as csv, with the statements beside them: the SHA-256, the signature, and that
each statement names the one of the month before. Without a file it checks all closed months of the shop as they are
stored. Without --key it trusts the keys of this server. With files and --key it needs no server and no settings.`,
		Example: "  chequer books verify\n  chequer books verify books-2026-10.csv books-2026-11.csv --key ed25519:…",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 || len(keys) == 0 {
				return stored(c, args)
			}
			trusted, err := readKeys(keys)
			if err != nil {
				return err
			}
			verified, err := verifyBooks(args, trusted)
			if err != nil {
				return err
			}
			return s.Print(c, verified, func(w io.Writer) { write(w, verified) })
		},
	}
	c.Flags().StringArrayVar(&keys, "key", nil, "a key that you trust, or a file of trusted keys; may be repeated")
	return c
}

// verifiedMonths returns verified months as they are printed.
func verifiedMonths(verified []books.Verified) []verifiedMonth {
	return convertAll(verified, func(v books.Verified) verifiedMonth {
		return verifiedMonth{v.Server, v.Shop, v.Month, console.Stamp(v.ClosedAt), v.Lines, v.SHA256, v.FollowsPrevious}
	})
}

// trustedKeys returns the keys that flags name or, if there are none, those of the installation.
func (call invocation) trustedKeys(flags []string) ([]proof.Trusted, error) {
	if len(flags) > 0 {
		return readKeys(flags)
	}
	keys, err := call.core.Proofs.Keys(call.Context())
	return convertAll(keys, func(k proof.Key) proof.Trusted { return proof.Trusted{Public: k.Public, RetiredAt: k.RetiredAt} }), err
}

// maxBooks is the size of the largest file of a month, in bytes.
const maxBooks = 1 << 30

// verifyBooks verifies files with the statements beside them.
func verifyBooks(names []string, trusted []proof.Trusted) ([]verifiedMonth, error) {
	var files []books.SignedFile
	for _, name := range names {
		base, isCSV := strings.CutSuffix(name, ".csv")
		if !isCSV {
			return nil, fmt.Errorf("%s: name the file that ends in .csv; its statement, which ends in .txt, must be beside it", name)
		}
		content, err := readInput(nil, name, maxBooks)
		if err != nil {
			return nil, err
		}
		statement, err := readInput(nil, base+".txt", proof.MaxSize)
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%s.txt is missing: it is the signed statement about %s", base, name)
		}
		if err != nil {
			return nil, err
		}
		files = append(files, books.SignedFile{Name: name, CSV: content, Statement: statement})
	}
	verified, err := books.Verify(files, trusted)
	return verifiedMonths(verified), err
}

func (s *shell) booksReconcile() *cobra.Command {
	var network string
	c := list(s, "reconcile", "Compare the coins that the records say to be at the addresses of an EVM network with those that the network shows",
		func(call invocation) ([]sweep.Reconciled, error) {
			return sweep.Reconcile(call.Context(), call.core.Storage, call.cfg, call.shop.ID, chain.ID(network), call.core.Now)
		}, "ASSET\tRECEIVED\tFUNDED\tSWEPT\tFEES\tEXPECTED\tHELD\tDIFFERENCE", func(r sweep.Reconciled) []any {
			return []any{r.Asset, r.Received, r.Funded, r.Swept, r.Fees, r.Expected, r.Held, r.Difference}
		})
	c.Long = `Adds the confirmed payments of each asset and what payers of sweeps sent to the addresses for fees, subtracts what sweeps
moved and the fees that the addresses paid, and compares the rest with the balances of all addresses after the newest block. A difference is money that no record explains, a
payment that is not final yet, or a row of a sweep whose state was not read since. For
Bitcoin and Litecoin compare the column output of the lines with the list of your wallet.`
	c.Example = "  chequer books reconcile --network base"
	c.Flags().StringVar(&network, "network", "", "ethereum, base or another watched network")
	if err := c.MarkFlagRequired("network"); err != nil {
		panic(err)
	}
	return c
}
