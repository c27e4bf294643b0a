package present

import (
	"net/url"
	"regexp"

	"chequer/internal/api"
	"chequer/views"
)

// backLink returns the link back to the shop: to its address for paid or for failed payments, or to the
// storefront.
func backLink(r api.Resource, s pageContext) views.Link {
	if r.Status == api.StatusPaid {
		return returnLink(r.URLSuccess, r, s, s.Text("link.back", "Shop", s.shop))
	}
	if link := returnLink(r.URLFailure, r, s, s.Text("link.back", "Shop", s.shop)); link.URL != "" {
		return link
	}
	return views.Link{Text: s.Text("link.back.start"), URL: s.page.Home}
}

// againLink returns the link to start a new payment: at the shop's address for failures, or at the
// storefront.
func againLink(r api.Resource, s pageContext) views.Link {
	if link := returnLink(r.URLFailure, r, s, s.Text("link.again")); link.URL != "" {
		return link
	}
	return views.Link{Text: s.Text("link.again"), URL: s.page.Home}
}

// quietReturn returns the link back to the shop in a less prominent style, for a page with a more useful action.
func quietReturn(r api.Resource, s pageContext) views.Link {
	link := returnLink(r.URLFailure, r, s, s.Text("link.return", "Shop", s.shop))
	link.Quiet = true
	return link
}

// returnLink returns the link to an address of the shop, with the invoice's ID added; empty if the address is not a
// web address. A request for that address does not prove a payment, so the shop must ask the service.
func returnLink(address string, r api.Resource, s pageContext, text string) views.Link {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return views.Link{}
	}
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += "invoice=" + url.QueryEscape(r.ForeignID)
	return views.Link{Text: text, URL: u.String(), Hint: s.Text("link.opens", "Host", u.Host)}
}

// originPattern matches the origins that a Content-Security-Policy can name.
var originPattern = regexp.MustCompile(`^https?://[A-Za-z0-9_.-]+(:[0-9]{1,5})?$`)

// ShopOrigin returns the origin of the address to which the page of the paid invoice leads back; "" if there is none.
func ShopOrigin(r api.Resource) string {
	u, err := url.Parse(r.URLSuccess)
	if err != nil || !originPattern.MatchString(u.Scheme+"://"+u.Host) {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
