package merchant

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Explorer is the URL of a page about a transaction or a destination on a network, on a site that the merchant
// chose. The site learns which pages are opened.
type Explorer struct {
	Network  string // ID
	Template string // URL with one placeholder, txPlaceholder or addressPlaceholder
}

// The placeholders of templates.
const (
	txPlaceholder      = "{tx}"
	addressPlaceholder = "{address}"
)

// maxTemplate is the maximum length of a template, in bytes.
const maxTemplate = 300

// networkPattern matches the ID of a network.
var networkPattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// placeholder returns the placeholder of a template.
func (e Explorer) placeholder() string {
	if strings.Contains(e.Template, txPlaceholder) {
		return txPlaceholder
	}
	return addressPlaceholder
}

// Explorers are the explorers of a merchant.
type Explorers []Explorer

// Transaction returns the URL of the page about a transaction; "" if there is none.
func (all Explorers) Transaction(network, tx string) string {
	return all.page(network, txPlaceholder, tx)
}

// Address returns the URL of the page about a destination; "" if there is none.
func (all Explorers) Address(network, address string) string {
	return all.page(network, addressPlaceholder, address)
}

// page returns the URL of the page about a value on a network, by the template with a placeholder.
func (all Explorers) page(network, placeholder, value string) string {
	i := slices.IndexFunc(all, func(e Explorer) bool { return e.Network == network && e.placeholder() == placeholder })
	if i < 0 || value == "" {
		return ""
	}
	return strings.Replace(all[i].Template, placeholder, strings.ReplaceAll(url.QueryEscape(value), "+", "%20"), 1)
}

// setExplorers adds the explorers of a list such as "bitcoin=https://explorer.example/tx/{tx}", separated by white
// space, to p, and returns the list in its normal form.
func setExplorers(p *PaymentSettings, text string) (string, error) {
	var normal []string
	for _, entry := range strings.Fields(text) {
		network, template, _ := strings.Cut(entry, "=")
		e := Explorer{Network: network, Template: template}
		if err := e.check(); err != nil {
			return "", fmt.Errorf("must have entries such as bitcoin=https://explorer.example/tx/{tx}; %q %w", entry, err)
		}
		if slices.ContainsFunc(p.Explorers, func(o Explorer) bool { return o.Network == network && o.placeholder() == e.placeholder() }) {
			return "", fmt.Errorf("must have one entry with %s for each network; %s has several", e.placeholder(), network)
		}
		p.Explorers = append(p.Explorers, e)
		normal = append(normal, network+"="+template)
	}
	return strings.Join(normal, " "), nil
}

// check returns an error if the explorer breaks a rule. It completes a sentence that begins with the entry.
func (e Explorer) check() error {
	switch {
	case !networkPattern.MatchString(e.Network):
		return errors.New("does not begin with the name of a network and =")
	case len(e.Template) > maxTemplate:
		return fmt.Errorf("is longer than %d characters", maxTemplate)
	case strings.Count(e.Template, txPlaceholder)+strings.Count(e.Template, addressPlaceholder) != 1:
		return fmt.Errorf("must contain exactly one placeholder, %s or %s", txPlaceholder, addressPlaceholder)
	}
	rest := strings.Replace(e.Template, e.placeholder(), "x", 1)
	u, err := url.Parse(rest)
	switch {
	case err != nil || strings.ContainsAny(rest, `{}"'<>\`) || strings.ContainsFunc(rest, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("is not the address of a page")
	case u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "":
		return errors.New("does not begin with https:// and a host")
	case u.User != nil:
		return errors.New("contains a user name")
	case !strings.HasPrefix(e.Template, "https://"+u.Host+"/"):
		return errors.New("does not begin with https://, a host in lower case and /")
	}
	return nil
}
