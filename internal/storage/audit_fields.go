package storage

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strconv"
	"strings"
	"time"

	"chequer/internal/audit"
	"chequer/internal/merchant"
	"chequer/internal/theme"
)

// The functions below return the values of an object that are written to the audit log. They omit secrets
// and URLs with tokens.

// fields returns fields from names and values, without empty values.
func fields(pairs ...string) audit.Fields {
	f := audit.Fields{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			f[pairs[i]] = pairs[i+1]
		}
	}
	return f
}

func shopFields(m merchant.Merchant) audit.Fields {
	f := fields("name", m.Name)
	for name, value := range m.Choices {
		f[string(name)] = value
	}
	return f
}

// fingerprint returns a short hash of a value that is too long or too private to be written.
func fingerprint(value string) string {
	if value == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:6])
}

func keyFields(k merchant.Key) audit.Fields {
	return fields("label", k.Label, "mode", string(k.Mode), "scopes", joined(k.Scopes), "plugin", k.Plugin)
}

func walletFields(w merchant.Wallet) audit.Fields {
	if w.ID == "" {
		return nil
	}
	return fields("wallet", w.ID, "asset", w.Asset, "mode", string(w.Mode), "key", w.Counter)
}

func endpointFields(e merchant.Endpoint) audit.Fields {
	return fields("host", host(e.URL), "url", fingerprint(e.URL), "mode", string(e.Mode), "events", joined(e.Events), "paused", flag(e.Paused),
		"plugin", flag(e.Plugin), "secret", pluginSecret(e), "key", fingerprint(e.Key), "next key", fingerprint(e.NextKey), "removed", stamp(e.ArchivedAt))
}

// pluginSecret returns the fingerprint of the secret of a plug-in's endpoint, since a plug-in may choose the secret. It
// returns "" for another endpoint, whose key changes with its secret.
func pluginSecret(e merchant.Endpoint) string {
	if !e.Plugin {
		return ""
	}
	return fingerprint("secret of " + e.ID + " " + e.Secret)
}

func exchangeFields(a merchant.ExchangeAccount) audit.Fields {
	return fields("exchange", a.Exchange, "key", fingerprint(a.Key), "coins", joined(a.Coins), "smallest", a.Smallest,
		"slippage", strconv.FormatInt(a.Slippage, 10), "active", flag(a.Active), "removed", stamp(a.ArchivedAt))
}

func linkFields(l merchant.Link) audit.Fields {
	return fields("mode", string(l.Mode), "amount", l.Amount, "currency", l.Currency, "description", l.Description, "language", l.Language,
		"success", host(l.URLSuccess), "failure", host(l.URLFailure), "methods", string(l.Methods), "ends", stamp(l.EndsAt), "uses", number(l.MaxUses))
}

func productFields(p merchant.Product) audit.Fields {
	return fields("mode", string(p.Mode), "name", p.Name, "description", p.Description, "price", p.Price.String(), "currency", p.Price.Currency().Code,
		"vat", p.VAT.String(), "quantity", number(p.MaxQuantity), "order", string(p.AskOrderID), "note", string(p.AskNote), "methods", string(p.Methods), "active", flag(p.Active))
}

func terminalFields(t merchant.Terminal) audit.Fields {
	return fields("mode", string(t.Mode), "name", t.Name, "currency", t.Currency, "methods", string(t.Methods))
}

func themeFields(t theme.Theme) audit.Fields {
	return fields("name", t.Name, "accent", t.Accent, "line", t.Line, "support", t.Support, "terms", t.Terms, "stay", flag(t.Stay),
		"logo", fingerprint(string(t.Logo.Body)))
}

// invoiceFields returns the values of an invoice that a decision about it can change.
func invoiceFields(r record) audit.Fields {
	f := fields("status", r.row.status, "exceptions", r.row.exceptions, "expires", stamp(utc(r.row.expiresAt)),
		"accepted by", r.row.acceptedBy, "refund address", fingerprint(r.row.refund), "refund asset", r.row.refundAsset, "refund address by", r.row.refundBy)
	for _, s := range r.sales {
		f["sale "+strconv.FormatInt(s.number, 10)] = s.state
	}
	if r.row.keptAt.Valid {
		f["surplus kept"], f["surplus kept by"], f["surplus reason"] = r.row.kept, r.row.keptBy, r.row.keptReason
	}
	for _, c := range r.refunds {
		name := "refund " + strconv.FormatInt(c.number+1, 10)
		for suffix, value := range fields("", c.state, " amount", c.amount+" "+c.asset+" units", " address", fingerprint(c.address), " address by", c.addressBy,
			" transaction", c.tx, " reason", c.reason) {
			f[name+suffix] = value
		}
	}
	return f
}

// host returns the host of a URL, whose other parts may be secret.
func host(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Host
}

// The functions below return the text of a value, "" for the zero value.

func joined[T ~string](list []T) string {
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = string(item)
	}
	return strings.Join(texts, ",")
}

func flag(set bool) string {
	if set {
		return "yes"
	}
	return ""
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}
