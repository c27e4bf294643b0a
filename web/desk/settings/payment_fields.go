package settings

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/locale"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/report"
	"chequer/internal/retention"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// show shows the form.
func (f *paymentForm) show(status int) error {
	frame, err := f.Frame(f.Text("desk.paying"), f.SettingsPath())
	if err != nil {
		return err
	}
	costs, err := f.costs()
	if err != nil {
		return err
	}
	removable, err := f.removableInvoices()
	if err != nil {
		return err
	}
	p := desk.PaymentSettings{
		Frame: frame, Tabs: f.SettingsTabs(paymentsPlace), Action: f.Below(paymentsPlace), Hidden: []desk.Hidden{{Name: "version", Value: f.version}},
		Methods: desk.MethodChoice{
			Legend: f.Text("desk.methods.choice"), Hint: f.Text("desk.paying.methods"), Error: f.fault(visit.MethodsField, f.Text("desk.methods.choice")),
			Choices: f.MethodChoices(merchant.Live, f.codes, f.values, f.fault),
		},
		Below: f.groupsBelow(), Beside: f.groupsBeside(costs), Pages: f.pageGroups(removable),
	}
	switch _, isField := errors.AsType[*merchant.FieldError](f.problem); {
	case isField:
		p.Problem = f.Text("desk.problem.field")
	case f.problem != nil:
		p.Problem = f.Text("desk.problem.changed")
	}
	return f.Show(status, desk.PaymentSettingsPage(p))
}

// groupsBelow returns the fields below the payment methods.
func (f *paymentForm) groupsBelow() []desk.SettingGroup {
	return []desk.SettingGroup{
		{Heading: f.Text("desk.paying.depth"), Text: f.Text("desk.paying.depth.text"), Inputs: []desk.SettingInput{
			choiceSetting(f, merchant.SettingConfirmations, "desk.paying.depth.label", "", merchant.AllConfirmations, depthTexts),
		}, Depths: f.depths()},
		{Heading: f.Text("desk.paying.zero"), Text: f.Text("desk.paying.zero.text"), Inputs: []desk.SettingInput{
			f.decimal(merchant.SettingZeroBTC, "desk.paying.zero.btc", "desk.paying.zero.hint"),
			f.decimal(merchant.SettingZeroLTC, "desk.paying.zero.ltc", "desk.paying.zero.hint"),
		}, Notes: f.withoutMempool()},
		f.lightning(),
		{Heading: f.Text("desk.paying.explorers"), Text: f.Text("desk.paying.explorers.text"), Inputs: []desk.SettingInput{f.explorers()}},
	}
}

// lightning returns the fields of the payment requests.
func (f *paymentForm) lightning() desk.SettingGroup {
	toggle := func(name merchant.SettingName, label, hint string) desk.SettingInput {
		return choiceSetting(f, name, label, hint, []string{"off", "on"}, switchTexts)
	}
	return desk.SettingGroup{Heading: f.Text("desk.paying.lightning"), Text: f.Text("desk.paying.lightning.text"), Inputs: []desk.SettingInput{
		f.number(merchant.SettingLightningLeast, "desk.paying.lightning.least", "desk.paying.lightning.hint"),
		f.number(merchant.SettingLightningMost, "desk.paying.lightning.most", "desk.paying.lightning.hint"),
		toggle(merchant.SettingLightningOnDemand, "desk.paying.lightning.demand", "desk.paying.lightning.demand.hint"),
		toggle(merchant.SettingLightningOrder, "desk.paying.lightning.order", "desk.paying.lightning.order.hint"),
		toggle(merchant.SettingLightningUnified, "desk.paying.lightning.unified", "desk.paying.lightning.unified.hint"),
	}}
}

// groupsBeside returns the fields beside the payment methods.
func (f *paymentForm) groupsBeside(costs []string) []desk.SettingGroup {
	return []desk.SettingGroup{
		{Heading: f.Text("desk.paying.quotes"), Text: f.Text("desk.paying.quotes.text"), Inputs: []desk.SettingInput{
			f.number(merchant.SettingQuoteMinutes, "desk.paying.minutes", "desk.paying.minutes.hint"),
			choiceSetting(f, merchant.SettingLatePayments, "desk.paying.late", "desk.paying.late.hint", merchant.AllLatePayments, lateTexts),
		}},
		{Heading: f.Text("desk.paying.tolerance"), Text: f.Text("desk.paying.tolerance.text"), Inputs: []desk.SettingInput{
			f.decimal(merchant.SettingTolerancePercent, "desk.paying.tolerance.percent", "desk.paying.tolerance.percent.hint"),
			f.decimal(merchant.SettingToleranceAmount, "desk.paying.tolerance.amount", "desk.paying.tolerance.amount.hint"),
		}, Notes: costs},
		{Heading: f.Text("desk.paying.short"), Text: f.Text("desk.paying.short.text"), Inputs: []desk.SettingInput{
			f.decimal(merchant.SettingShortPercent, "desk.paying.short.percent", ""),
			f.decimal(merchant.SettingShortAmount, "desk.paying.short.amount", "desk.paying.short.hint"),
		}},
	}
}

// pageGroups returns the fields of the pages for shoppers, of the currency, and of the books, with notes about the invoices that may be removed.
func (f *paymentForm) pageGroups(removable []string) []desk.SettingGroup {
	return []desk.SettingGroup{{Heading: f.Text("desk.paying.pages"), Text: f.Text("desk.paying.pages.text"), Inputs: []desk.SettingInput{
		choiceSetting(f, merchant.SettingStorefront, "desk.paying.storefront", "desk.paying.storefront.hint", []string{"off", "on"}, storefrontTexts), f.currencies(), f.languages(),
	}}, {Heading: f.Text("desk.paying.books"), Text: f.Text("desk.paying.books.text"), Inputs: []desk.SettingInput{f.zones()}},
		{Heading: f.Text("desk.paying.retention"), Text: f.Text("desk.paying.retention.text"), Inputs: []desk.SettingInput{f.personalData(), f.bookYears()}, Notes: append(removable, f.pluginRetention())}}
}

// withoutMempool returns a note about each network on which a zero-confirmation cap has no effect.
func (f *paymentForm) withoutMempool() (notes []string) {
	for _, code := range []string{"BTC", "LTC"} {
		if a, known := f.Invoices.AssetByCode(invoice.Live, code); known && !f.Invoices.SeesMempool(a.Network) {
			notes = append(notes, f.Text("desk.paying.zero.none", "Network", a.NetworkName))
		}
	}
	return notes
}

// pluginRetention returns a note about the data that shop plug-ins send.
func (f *paymentForm) pluginRetention() string {
	if f.PluginDays == 0 {
		return f.Text("desk.paying.plugins.kept")
	}
	return f.Text("desk.paying.plugins.removed", "Number", strconv.Itoa(f.PluginDays))
}

// personalDataMonths are the periods that the form offers.
var personalDataMonths = []int{6, 12, merchant.ProposedPersonalDataMonths, 36, 60, 120}

// personalData returns the list of the periods after which personal data are removed, with the stored or entered one.
func (f *paymentForm) personalData() desk.SettingInput {
	return f.period(merchant.SettingPersonalData, personalDataMonths, merchant.ProposedPersonalDataMonths, periodTexts{
		"desk.paying.personal", "desk.paying.personal.hint", "desk.paying.personal.off", "desk.paying.personal.after", "desk.paying.personal.proposed",
	})
}

// bookYears are the periods of the books that the form offers.
var bookYears = []int{6, 8, merchant.ProposedBookYears, 15, 20, 30}

// bookYears returns the list of the periods after which invoices are removed, with the stored or entered one.
func (f *paymentForm) bookYears() desk.SettingInput {
	return f.period(merchant.SettingBooks, bookYears, merchant.ProposedBookYears, periodTexts{
		"desk.paying.removal", "desk.paying.removal.hint", "desk.paying.removal.off", "desk.paying.removal.after", "desk.paying.removal.proposed",
	})
}

// periodTexts are the keys of the texts of a list of retention periods.
type periodTexts struct{ label, hint, off, after, proposed string }

// period returns the list of the retention periods of a setting.
func (f *paymentForm) period(setting merchant.SettingName, offered []int, proposed int, texts periodTexts) desk.SettingInput {
	name := string(setting)
	c := desk.Choice{Name: name, Label: f.Text(texts.label), Hint: f.Text(texts.hint)}
	c.Error = f.fault(name, c.Label)
	value := f.values[name]
	options := []desk.Option{{Value: merchant.Kept, Text: f.Text(texts.off)}}
	if n, err := strconv.Atoi(value); err == nil && !slices.Contains(offered, n) {
		offered = slices.Sorted(slices.Values(append([]int{n}, offered...)))
	}
	for _, n := range offered {
		text := texts.after
		if n == proposed {
			text = texts.proposed
		}
		options = append(options, desk.Option{Value: strconv.Itoa(n), Text: f.Text(text, "Number", strconv.Itoa(n))})
	}
	for i := range options {
		options[i].Chosen = options[i].Value == value
	}
	c.Options = options
	return desk.SettingInput{Choice: c}
}

// currencies returns the list of the currencies.
func (f *paymentForm) currencies() desk.SettingInput {
	name := string(merchant.SettingCurrency)
	c := currencyChoice(f.Visit, f.values[name])
	c.Error = f.fault(name, c.Label)
	return desk.SettingInput{Choice: c}
}

// removableInvoices returns a note about the invoices that the next run may remove, with the stored period or, if the invoices are
// kept, with the proposed one.
func (f *paymentForm) removableInvoices() ([]string, error) {
	years, text := f.chosen.BookYears(), "desk.paying.removal.next"
	if years == 0 {
		years, text = merchant.ProposedBookYears, "desk.paying.removal.would"
	}
	cut := retention.Cut(f.Now(), years, f.chosen.Zone())
	n, err := f.Reports.OldInvoices(f.Request().Context(), f.Shop.ID, cut)
	if err != nil {
		return nil, err
	}
	if n == report.MaxOldInvoices { // there may be more
		text = "desk.paying.removal.many"
	}
	date := f.Text("desk.date.year", "Day", strconv.Itoa(cut.Day()), "Month", f.Words.Month(cut.Month()), "Year", strconv.Itoa(cut.Year()))
	return []string{f.Text(text, "Number", f.Words.Decimal(strconv.FormatInt(n, 10)), "Date", date, "Years", strconv.Itoa(years))}, nil
}

// zones returns the list of the time zones.
func (f *paymentForm) zones() desk.SettingInput {
	name := string(merchant.SettingTimeZone)
	c := zoneChoice(f.Visit, f.values[name])
	c.Error = f.fault(name, c.Label)
	return desk.SettingInput{Choice: c}
}

// depthAmounts are the amounts in euro up to which the tables of the networks require the same depth.
var depthAmounts = []int64{500, 5_000, 50_000}

// depths returns the confirmations that each network requires with the values of the form, by amount.
func (f *paymentForm) depths() desk.Depths {
	d := desk.Depths{Caption: f.Text("desk.paying.depth.caption"), Network: f.Text("desk.paying.depth.network")}
	for _, euro := range depthAmounts {
		d.Columns = append(d.Columns, f.Text("desk.paying.depth.below", "Amount", f.Fiat(money.FromCents(100*euro, money.EUR))))
	}
	d.Columns = append(d.Columns, f.Text("desk.paying.depth.above"))
	steps := merchant.Confirmations(f.values[string(merchant.SettingConfirmations)]).Steps()
	for _, code := range f.codes {
		a, known := f.Invoices.AssetByCode(invoice.Live, code)
		if !known || slices.ContainsFunc(d.Rows, func(r desk.DepthRow) bool { return r.Network == a.NetworkName }) {
			continue
		}
		row, policy := desk.DepthRow{Network: a.NetworkName}, a.Policy.Deeper(steps)
		for _, euro := range append([]int64{0}, depthAmounts...) {
			row.Cells = append(row.Cells, f.depth(a.Network, policy.Confirmations(euro*100)))
		}
		d.Rows = append(d.Rows, row)
	}
	return d
}

// depth returns a number of confirmations on a network, with the time that they usually take.
func (f *paymentForm) depth(network chain.ID, confirmations int) desk.DepthCell {
	c, wait := desk.DepthCell{Number: strconv.Itoa(confirmations)}, time.Duration(confirmations)*f.Invoices.BlockTime(network)
	switch {
	case wait == 0: // the time between blocks is not known
	case wait < time.Minute:
		c.Time = f.Text("desk.paying.depth.soon")
	case wait < 2*time.Hour:
		c.Time = f.Text("desk.paying.depth.minutes", "Minutes", strconv.Itoa(int(wait.Round(time.Minute)/time.Minute)))
	default:
		c.Time = f.Text("desk.paying.depth.hours", "Hours", strconv.Itoa(int(wait.Round(time.Hour)/time.Hour)))
	}
	return c
}

// lateTexts, depthTexts, switchTexts and storefrontTexts are the keys of the texts of choices.
var (
	lateTexts = map[merchant.LatePayments]string{
		merchant.LateDecide: "desk.paying.late.decide", merchant.LateWorth: "desk.paying.late.worth", merchant.LateAccept: "desk.paying.late.accept",
	}
	depthTexts = map[merchant.Confirmations]string{
		merchant.StandardConfirmations: "desk.paying.depth.standard", merchant.MoreConfirmations: "desk.paying.depth.more", merchant.MostConfirmations: "desk.paying.depth.most",
	}
	switchTexts     = map[string]string{"off": "desk.paying.off", "on": "desk.paying.on"}
	storefrontTexts = map[string]string{"off": "desk.paying.storefront.off", "on": "desk.paying.storefront.on"}
)

// text returns the text field of a setting.
func (f *paymentForm) text(name merchant.SettingName, label, hint string) desk.SettingInput {
	field := f.TextField(string(name), label, hint, f.values[string(name)])
	if by := f.inForce[name].By; by != "" {
		return f.fixed(field.Label, field.Value, by)
	}
	field.Error = f.fault(field.Name, field.Label)
	return desk.SettingInput{Text: field}
}

// explorers returns the field of the explorers, with one explorer on each line.
func (f *paymentForm) explorers() desk.SettingInput {
	i := f.text(merchant.SettingExplorers, "desk.paying.explorers.label", "")
	i.Text.Hint = f.Text("desk.paying.explorers.hint", "Transaction", "bitcoin=https://explorer.example/tx/{tx}", "Address", "bitcoin=https://explorer.example/address/{address}")
	i.Text.Value, i.Text.Lines, i.Text.Code = strings.ReplaceAll(i.Text.Value, " ", "\n"), 4, true
	return i
}

// number returns the field of a setting that is a whole number.
func (f *paymentForm) number(name merchant.SettingName, label, hint string) desk.SettingInput {
	i := f.text(name, label, hint)
	i.Text.Digits = true
	return i
}

// decimal returns the field of a setting that is a decimal number.
func (f *paymentForm) decimal(name merchant.SettingName, label, hint string) desk.SettingInput {
	i := f.text(name, label, hint)
	i.Text.Decimal = true
	return i
}

// choiceSetting returns the list from which the value of a setting is chosen.
func choiceSetting[V ~string](f *paymentForm, name merchant.SettingName, label, hint string, options []V, texts map[V]string) desk.SettingInput {
	c := desk.Choice{Name: string(name), Label: f.Text(label)}
	if hint != "" {
		c.Hint = f.Text(hint)
	}
	value := f.values[c.Name]
	if by := f.inForce[name].By; by != "" {
		return f.fixed(c.Label, f.Text(texts[V(value)]), by)
	}
	c.Error = f.fault(c.Name, c.Label)
	for _, o := range options {
		c.Options = append(c.Options, desk.Option{Value: string(o), Text: f.Text(texts[o]), Chosen: value == string(o)})
	}
	return desk.SettingInput{Choice: c}
}

// languages returns the check boxes of the languages.
func (f *paymentForm) languages() desk.SettingInput {
	c := desk.Checks{Name: languagesField, Label: f.Text("desk.paying.languages"), Hint: f.Text("desk.paying.languages.hint"), Columns: true}
	value := f.values[c.Name]
	codes := strings.Fields(value)
	if by := f.inForce[merchant.SettingLanguages].By; by != "" {
		return f.fixed(c.Label, value, by)
	}
	c.Error = f.fault(c.Name, c.Label)
	for _, l := range locale.All().List() {
		c.Options = append(c.Options, desk.CheckOption{Value: l.Code, Text: l.Name, Tag: l.Tag, Chosen: slices.Contains(codes, l.Code)})
	}
	return desk.SettingInput{Checks: c}
}

// fixed returns a setting that the desk cannot change, with the name of its source.
func (f *paymentForm) fixed(label, value, by string) desk.SettingInput {
	return desk.SettingInput{Fixed: desk.FixedSetting{Label: label, Value: value, By: f.Text("desk.paying.fixed", "Name", by)}}
}

// fault returns the text that a field shows as its error: the broken rule, or the value that another change
// stored.
func (f *paymentForm) fault(name, label string) string {
	if wrong, ok := errors.AsType[*merchant.FieldError](f.problem); ok && wrong.Field == name {
		return f.Text("desk.field.fault", "Name", label, "Fault", wrong.Fault)
	}
	current := f.stored[name]
	switch {
	case f.stored == nil || current == f.values[name] || name == visit.MethodsField:
		return ""
	case current == "": // another account emptied the field
		return f.Text("desk.field.emptied")
	}
	return f.Text("desk.field.stored", "Value", current)
}
