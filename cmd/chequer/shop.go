package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"chequer/internal/app"
	"chequer/internal/config"
	"chequer/internal/console"
	"chequer/internal/demo"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/report"
)

// invocation is a call of a command, with the open storage and the merchant. The merchant is the zero Merchant for a
// command that concerns the whole server.
type invocation struct {
	*cobra.Command
	args []string
	cfg  config.Config
	core *app.Core
	shop merchant.Merchant
}

// open opens the storage of an existing server. It must exist: a command that runs in a wrong directory
// must not create another server.
func (s *shell) open(c *cobra.Command, cfg config.Config) (*app.Core, error) {
	return app.OpenCore(c.Context(), cfg, app.Options{Log: newLogger(cfg), Existing: true})
}

// addShopFlag adds the flag that names the shop to a command that concerns one shop, and to its subcommands.
func (s *shell) addShopFlag(c *cobra.Command) *cobra.Command {
	c.PersistentFlags().StringVar(&s.shopName, shopFlag, "", "the shop, by its ID or name; needed if there are several")
	return c
}

// shopFlag is the name of the flag that names the shop.
const shopFlag = "shop"

// withShop returns the function of a command that opens the storage, calls do and closes the storage. If the
// command has the flag that names the shop, do gets the shop.
func (s *shell) withShop(do func(invocation) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		cfg, err := s.load()
		if err != nil {
			return err
		}
		core, err := s.open(c, cfg)
		if err != nil {
			return err
		}
		defer core.Close()
		shops, err := core.Shops(c.Context(), cfg)
		if err != nil {
			return err
		}
		call := invocation{Command: c, args: args, cfg: cfg, core: core}
		if c.Flag(shopFlag) != nil {
			if call.shop, err = chooseShop(shops, s.shopName); err != nil {
				return err
			}
		}
		return do(call)
	}
}

// chooseShop returns the shop that the flag names, or the only shop if it is "".
func chooseShop(shops []merchant.Merchant, name string) (merchant.Merchant, error) {
	m, err := merchant.Choose(shops, name)
	if err != nil {
		err = fmt.Errorf("--%s: %w", shopFlag, err)
	}
	return m, err
}

// answer returns the function of a command that computes a result, and prints it as JSON or with text.
func answer[R any](s *shell, compute func(invocation) (R, error), text func(io.Writer, R)) func(*cobra.Command, []string) error {
	return s.withShop(func(call invocation) error {
		result, err := compute(call)
		if err != nil {
			return err
		}
		return s.Print(call.Command, result, func(w io.Writer) { text(w, result) })
	})
}

// list returns a command that prints rows as JSON or as a table with a heading.
func list[R any](s *shell, use, short string, rows func(invocation) ([]R, error), heading string, cells func(R) []any) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: console.Arguments,
		RunE: answer(s, rows, func(w io.Writer, rows []R) { console.WriteTable(w, heading, rows, cells) }),
	}
}

// convertAll returns the result of convert for each item of a list. The list that it returns is never nil, so
// that it is [] in JSON.
func convertAll[T, R any](items []T, convert func(T) R) []R {
	converted := make([]R, len(items))
	for i, item := range items {
		converted[i] = convert(item)
	}
	return converted
}

// change returns a command that calls change with its argument, the name of an object. It prints done, a past
// participle such as "removed", and the name.
func (s *shell) change(use, short, done string, change func(call invocation, name string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: console.Arguments,
		RunE: answer(s, func(call invocation) (map[string]string, error) {
			return map[string]string{done: call.args[0]}, change(call, call.args[0])
		}, func(w io.Writer, result map[string]string) { fmt.Fprintln(w, done, result[done]) }),
	}
}

// applyFlags calls the functions of those flags that were given.
func (call invocation) applyFlags(flags map[string]func()) {
	for name, set := range flags {
		if call.Flags().Changed(name) {
			set()
		}
	}
}

// checkFlag returns an error for the word of a flag that is neither known nor "".
func checkFlag[W ~string](noun, word string, known []W) error {
	if word == "" {
		return nil
	}
	return checkWord(noun, word, known)
}

// checkWord returns an error for a word that is not known.
func checkWord[W ~string](noun, word string, known []W) error {
	if slices.Contains(known, W(word)) {
		return nil
	}
	words := convertAll(known, func(w W) string { return string(w) })
	return fmt.Errorf("there is no %s %q; there are %s", noun, word, strings.Join(words, ", "))
}

// testFlag adds the flag that selects test mode. The method mode reads it.
func testFlag(c *cobra.Command, usage string) {
	c.Flags().Bool("test", false, usage+"; on a demo it is the default")
}

// mode returns the mode that the flag of a command selects. Without the flag it is test mode for a demo,
// which has only test invoices, and live mode otherwise.
func (call invocation) mode() (merchant.Mode, error) {
	if f := call.Flags().Lookup("test"); f == nil || !f.Changed {
		isDemo, err := call.isDemo()
		if err != nil || isDemo {
			return merchant.Test, err
		}
		return merchant.Live, nil
	}
	if test, err := call.Flags().GetBool("test"); err != nil || test {
		return merchant.Test, err
	}
	return merchant.Live, nil
}

// isDemo reports whether the server is a demo.
func (call invocation) isDemo() (bool, error) { return demo.IsDemo(call.Context(), call.core.Storage) }

// errDemoShop means that a command would add a live wallet or a live API key to a demo.
var errDemoShop = errors.New("this is the demo shop, which accepts only test payments: name the data directory of your own shop in CHEQUER_DATA_DIR")

// checkNotDemo returns errDemoShop if the server is a demo. A live wallet or key would make it a real shop,
// which chequer demo refuses to run.
func (call invocation) checkNotDemo() error {
	isDemo, err := call.isDemo()
	if err == nil && isDemo {
		return errDemoShop
	}
	return err
}

// notFound adds a hint to an error about a missing link or product. other is the mode in which it exists, or
// "": then the hint names the command that lists all.
func notFound(err error, noun string, other merchant.Mode) error {
	if !errors.Is(err, merchant.ErrNotFound) {
		return err
	}
	switch other {
	case merchant.Test:
		return fmt.Errorf("%w: it is for test invoices, so add --test", err)
	case merchant.Live:
		return fmt.Errorf("%w: it is for live invoices, so leave out --test, or on a demo add --test=false", err)
	}
	return fmt.Errorf("%w: chequer %s list shows every %s; a %s of test invoices needs --test", err, noun, noun, noun)
}

// invoices returns the invoice service.
func (call invocation) invoices() (*invoice.Service, error) {
	return call.core.Invoices(call.Context(), call.cfg, app.Options{Log: newLogger(call.cfg)})
}

// methodRow is the choice of payment methods as it is printed.
type methodRow struct {
	Chosen []string `json:"payment_methods"` // empty: all
	all    []string
}

// method returns the command about the payment methods of the shop.
func (s *shell) method() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "methods [CODE…]",
		Short: "Choose the payment methods that the shop offers, and their order",
		Long: `Without a code it shows the selected methods. A link, a product, a terminal or a call of the API may select other
methods. Methods that cannot be priced or have no wallet are not offered.`,
		Example: "  chequer methods BTC EURC-BASE USDC-BASE\n  chequer methods --all",
		Args:    console.Arguments,
		RunE: answer(s, func(call invocation) (methodRow, error) {
			mode, err := call.mode()
			if err != nil {
				return methodRow{}, err
			}
			if all {
				call.args = nil
			}
			chosen := merchant.Methods(call.shop.Choices[merchant.SettingMethods])
			if all || len(call.args) > 0 {
				if chosen, err = call.shopMethods(mode, call.args); err != nil {
					return methodRow{}, err
				}
				if _, err := call.core.Settings.Change(call.Context(), call.shop.ID, "", merchant.Choices{merchant.SettingMethods: string(chosen)}); err != nil {
					return methodRow{}, err
				}
			}
			service, err := call.invoices()
			if err != nil {
				return methodRow{}, err
			}
			return methodRow{append([]string{}, chosen.Codes()...), service.MethodCodes(invoice.Mode(mode))}, nil
		}, func(w io.Writer, r methodRow) {
			fmt.Fprintln(w, cmp.Or(strings.Join(r.Chosen, " "), "all, in the server's order: "+strings.Join(r.all, " ")))
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "offer all methods, in the server's order")
	return c
}

// methodsFlag adds the flag that selects payment methods.
func methodsFlag(c *cobra.Command, target *[]string) {
	c.Flags().StringSliceVar(target, "methods", nil, "payment methods in the order of offer, such as BTC,EURC-BASE (default the methods of the shop)")
}

// methods parses a list of payment methods. It returns an error if this server does not offer one of them.
func (call invocation) methods(mode merchant.Mode, codes []string) (merchant.Methods, error) {
	chosen, err := merchant.NewMethods(codes)
	if err != nil {
		return "", fmt.Errorf("the choice of payment methods %w", err)
	}
	if len(codes) == 0 {
		return chosen, nil
	}
	service, err := call.invoices()
	if err != nil {
		return "", err
	}
	for _, code := range codes {
		if !service.HasMethod(invoice.Mode(mode), code) {
			return "", fmt.Errorf("this server does not offer payment method %s; it offers %s", code, strings.Join(service.MethodCodes(invoice.Mode(mode)), ", "))
		}
	}
	return chosen, nil
}

// shopMethods parses a list of payment methods for the setting of the shop. It also returns an error if the shop
// has live wallets, but none for any of the methods.
func (call invocation) shopMethods(mode merchant.Mode, codes []string) (merchant.Methods, error) {
	chosen, err := call.methods(mode, codes)
	if err != nil || len(codes) == 0 {
		return chosen, err
	}
	service, err := call.invoices()
	if err != nil {
		return "", err
	}
	return chosen, call.core.Settings.CheckMethods(call.Context(), call.shop.ID, codes, service.WalletOf)
}

// shop returns the group of commands that manage the shops of the server.
func (s *shell) shop() *cobra.Command {
	return console.Group("shop", "List, create, rename and recount the shops of the server",
		list(s, "list", "List the shops, oldest first", listShops, "ID\tNAME\tADDRESS\tCREATED", func(r shopRow) []any {
			return []any{r.ID, r.Name, r.Address, s.Time(r.CreatedAt)}
		}),
		s.shopCreate(), s.addShopFlag(s.shopRename()), s.addShopFlag(s.shopRecount()))
}

// shopRow is a shop in the output of commands.
type shopRow struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Address   string `json:"address"` // URL of its storefront
	CreatedAt string `json:"created_at"`
}

func newShopRow(call invocation, m merchant.Merchant, isFirst bool) shopRow {
	row := shopRow{ID: m.ID, Name: m.Name, Address: call.cfg.BaseURL + "/", CreatedAt: console.Stamp(m.CreatedAt)}
	if !isFirst {
		row.Address = call.cfg.BaseURL + m.Path()
	}
	return row
}

func listShops(call invocation) ([]shopRow, error) {
	shops, err := call.core.Merchants.Shops(call.Context())
	rows := make([]shopRow, len(shops))
	for i, m := range shops {
		rows[i] = newShopRow(call, m, i == 0)
	}
	return rows, err
}

func (s *shell) shopCreate() *cobra.Command {
	var owner string
	c := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a shop with its own wallets, keys, products and accounts",
		Long: `Creates a shop on this server. Networks, rates, accounts and backups are shared; everything else belongs to one
shop. The ID is made of the name and stays when the shop is renamed.`,
		Example: "  chequer shop create \"Atelier Nord\" --owner Maren\n  chequer wallet add BTC zpub… --shop \"Atelier Nord\"",
		Args:    console.Arguments,
		RunE: answer(s, func(call invocation) (shopRow, error) {
			ownerID := ""
			if owner != "" {
				a, err := call.namedAccount(owner)
				if err != nil {
					return shopRow{}, err
				}
				ownerID = a.ID
			}
			m, err := call.core.Merchants.CreateShop(call.Context(), call.args[0], ownerID)
			if err != nil {
				return shopRow{}, shopError(err, call.args[0])
			}
			return newShopRow(call, m, false), nil
		}, func(w io.Writer, r shopRow) {
			console.WriteFields(w, [][2]string{{"id", r.ID}, {"name", r.Name}, {"address", r.Address}})
			if owner == "" {
				fmt.Fprintf(w, "No account has a role in it yet: chequer account role NAME owner --shop %s, or chequer account invite --role owner --shop %s\n", r.ID, r.ID)
			}
		}),
	}
	c.Flags().StringVar(&owner, "owner", "", "account that becomes the owner of the shop")
	return c
}

func (s *shell) shopRename() *cobra.Command {
	return &cobra.Command{
		Use:   "rename NAME",
		Short: "Change the name of a shop; existing invoices keep the old name, and the shop keeps its ID",
		Args:  console.Arguments,
		RunE: answer(s, func(call invocation) (shopRow, error) {
			shops, err := call.core.Merchants.Shops(call.Context())
			if err != nil {
				return shopRow{}, err
			}
			isFirst := shops[0].ID == call.shop.ID
			if isFirst && call.cfg.ShopName != "" {
				return shopRow{}, errors.New("the name of this shop is set by CHEQUER_SHOP_NAME: change it there")
			}
			if err := call.core.Merchants.RenameShop(call.Context(), call.shop.ID, "", call.args[0]); err != nil {
				return shopRow{}, shopError(err, call.args[0])
			}
			m, err := call.core.Merchants.Merchant(call.Context(), call.shop.ID)
			return newShopRow(call, m, isFirst), err
		}, func(w io.Writer, r shopRow) { fmt.Fprintln(w, "renamed", r.ID, "to", r.Name) }),
	}
}

func (s *shell) shopRecount() *cobra.Command {
	return &cobra.Command{
		Use:   "recount",
		Short: "Compute the totals of the reports and what the wallets received again from the invoices, for example if chequer doctor finds a difference",
		Args:  console.Arguments,
		RunE: answer(s, func(call invocation) (map[string]string, error) {
			storage, id := call.core.Storage, call.shop.ID
			if err := storage.RestartSums(call.Context(), id); err != nil {
				return nil, err
			}
			return map[string]string{"recounted": id}, report.Complete(call.Context(), storage, id)
		}, func(w io.Writer, result map[string]string) { fmt.Fprintln(w, "recounted", result["recounted"]) }),
	}
}

// shopError adds the name or the limit to an error of creating or renaming a shop.
func shopError(err error, name string) error {
	switch {
	case errors.Is(err, merchant.ErrNameTaken):
		return fmt.Errorf("%q: %w: chequer shop list shows all", name, err)
	case errors.Is(err, merchant.ErrTooMany):
		return fmt.Errorf("a server has at most %d shops", merchant.MaxShops)
	}
	return err
}
