package payments

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/report"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// listQuery is the query of a list of invoices.
type listQuery struct {
	values url.Values
	text   string
	mode   invoice.Mode
	state  string
	period string
	after  place
}

// place is a place in a list of invoices. If a text is searched, it also has the number of the meaning of the text; see
// candidates. The meaning is chosen once invoices with it were found.
type place struct {
	invoice.Position
	meaning  int
	isChosen bool
}

// readPlace returns the place of a link to the next page; the zero place if it is not one.
func readPlace(text string) (p place) {
	text, meaning, _ := strings.Cut(text, ".")
	meaning, p.isChosen = strings.CutSuffix(meaning, "c")
	p.meaning, _ = strconv.Atoi(meaning)
	if p.Position = position(text); p.Position == (invoice.Position{}) {
		return place{}
	}
	return p
}

// text returns the text that readPlace reads.
func (p place) text() string {
	text := strconv.FormatInt(p.CreatedAt.UnixMilli(), 10) + "-" + p.ID
	switch {
	case p.isChosen:
		return text + "." + strconv.Itoa(p.meaning) + "c"
	case p.meaning > 0:
		return text + "." + strconv.Itoa(p.meaning)
	}
	return text
}

// listFields are the names of the fields of a list's query.
var listFields = []string{"mode", "state", "method", "period", "source", "q", "after"}

// listQuery returns the query of the page.
func (v *page) listQuery() listQuery {
	given := v.QueryParams()
	q := listQuery{values: url.Values{}, mode: invoice.Live}
	for _, name := range listFields {
		if value := strings.TrimSpace(given.Get(name)); value != "" {
			q.values.Set(name, value)
		}
	}
	if q.values.Get("mode") == "test" {
		q.mode = invoice.Test
	} else {
		q.values.Del("mode")
	}
	q.text, q.state, q.period = q.values.Get("q"), q.values.Get("state"), q.values.Get("period")
	q.after = readPlace(q.values.Get("after"))
	return q
}

// position returns the position in the field "after" of a link to the next page; the zero position if the text is not a
// position.
func position(text string) invoice.Position {
	at, id, found := strings.Cut(text, "-")
	ms, err := strconv.ParseInt(at, 10, 64)
	if !found || err != nil || !visit.IsText(id) {
		return invoice.Position{}
	}
	return invoice.Position{CreatedAt: time.UnixMilli(ms).UTC(), ID: id}
}

// isFiltered reports whether the query selects a part of the list.
func (q listQuery) isFiltered() bool {
	return len(q.onlyFields("state", "method", "period", "source", "q").values) > 0
}

// onlyFields returns the query without the values of fields other than the named ones.
func (q listQuery) onlyFields(names ...string) listQuery {
	kept := url.Values{}
	for _, name := range names {
		if value := q.values.Get(name); value != "" {
			kept.Set(name, value)
		}
	}
	q.values = kept
	return q
}

// withField returns the query with a field set, or removed if value is "". The list begins at its first page.
func (q listQuery) withField(name, value string) listQuery {
	q = q.onlyFields(listFields...)
	q.values.Del("after")
	if q.values.Set(name, value); value == "" {
		q.values.Del(name)
	}
	return q
}

// nextPage returns the query of the page after a place.
func (q listQuery) nextPage(p place) listQuery { return q.withField("after", p.text()) }

// encode returns the query with its question mark; "" if it is empty.
func (q listQuery) encode() string {
	if len(q.values) == 0 {
		return ""
	}
	return "?" + q.values.Encode()
}

// keptFields returns the fields that the form with the filters keeps.
func (q listQuery) keptFields() []desk.Hidden {
	var hidden []desk.Hidden
	for _, name := range []string{"mode", "state"} {
		if value := q.values.Get(name); value != "" {
			hidden = append(hidden, desk.Hidden{Name: name, Value: value})
		}
	}
	return hidden
}

// filterFields returns the fields of the form with the filters.
func (q listQuery) filterFields(v *page) []desk.Filter {
	methods := desk.Filter{Name: "method", Label: v.Text("desk.method"), Options: []desk.Option{{Text: v.Text("desk.method.all"), Chosen: q.values.Get("method") == ""}}}
	for _, code := range v.Invoices.MethodCodes(q.mode) {
		name, network := v.AssetName(q.mode, code)
		methods.Options = append(methods.Options, desk.Option{Value: code, Text: strings.TrimSpace(name + " " + network), Chosen: q.values.Get("method") == code})
	}
	return []desk.Filter{q.periods(v), methods, q.sources(v)}
}

// periods returns the field that selects a period: a few days, or a month.
func (q listQuery) periods(v *page) desk.Filter {
	f := desk.Filter{Name: "period", Label: v.Text("desk.period")}
	add := func(value, text string) {
		f.Options = append(f.Options, desk.Option{Value: value, Text: text, Chosen: q.period == value})
	}
	add("", v.Text("desk.period.all"))
	add("today", v.Text("desk.period.today"))
	add("week", v.Text("desk.period.week"))
	v.Months(add)
	return f
}

// periodTimes returns the start and the end of a period; zero times are no limits. ok is false if there is no such
// period.
func (v *page) periodTimes(period string) (from, to time.Time, ok bool) {
	today, zone := v.Today(), v.Zone()
	switch period {
	case "":
		return from, to, true
	case "today":
		return today.Start(zone), to, true
	case "week":
		return (today - 6).Start(zone), to, true
	}
	p, err := report.ParsePeriod(period)
	return p.Start(zone), p.End(zone), err == nil
}

// listStates are the states by which the list is filtered.
var listStates = []struct {
	name, text, shape string
	status            invoice.Status // "" if the state is not one status
}{
	{"", "desk.state.all", "", ""},
	{"waiting", "desk.state.waiting", "wait", invoice.Created},
	{"seen", "desk.state.seen", "wait", invoice.Pending},
	{"paid", "desk.state.paid", "ok", invoice.Paid},
	{"attention", "desk.state.attention", "warn", ""},
	{"expired", "desk.state.expired", "off", invoice.Expired},
	{"cancelled", "desk.state.cancelled", "off", invoice.Declined},
}

// states returns the links that select a state, with the number of invoices in it.
func (q listQuery) states(v *page, t invoice.Tally) []desk.StateLink {
	var all int64
	for _, n := range t.Statuses {
		all += n
	}
	var links []desk.StateLink
	for _, s := range listStates {
		count := t.Statuses[s.status]
		switch s.name {
		case "":
			count = all
		case "attention":
			count = t.NeedDecision
		}
		links = append(links, desk.StateLink{
			Text: v.Text(s.text), Shape: s.shape, Count: strconv.FormatInt(count, 10), Current: q.state == s.name,
			URL: v.Below("/payments") + q.withField("state", s.name).encode(),
		})
	}
	return links
}

// filter returns the filter of the query, or a sentence about a field that is wrong.
func (q listQuery) filter(v *page) (f invoice.Filter, problem string) {
	f = invoice.Filter{MerchantID: v.Shop.ID, Mode: q.mode, PaidAsset: q.values.Get("method")}
	for _, s := range listStates {
		if s.name == q.state {
			f.Status, f.NeedsDecision = s.status, s.name == "attention"
		}
	}
	if !visit.IsText(f.PaidAsset) {
		return f, v.Text("desk.source.wrong")
	}
	var ok bool
	if f.Origin, ok = q.origin(); !ok {
		return f, v.Text("desk.source.wrong")
	}
	if f.From, f.To, ok = v.periodTimes(q.period); !ok {
		return f, v.Text("desk.period.wrong")
	}
	return f, ""
}
