package visit

import (
	"strings"

	"chequer/internal/account"
	"chequer/views"
	"chequer/views/desk"
)

// ShownOffer returns the prepared password in the fields of the form. Only Sealed is trusted. The seed, the address and
// the recovery codes are used to show the page again.
func (v *Visit) ShownOffer() account.PasswordOffer {
	return account.PasswordOffer{
		Sealed: v.FormValue("offer"), Seed: v.FormValue("seed"), URI: v.FormValue("uri"), Codes: strings.Fields(v.FormValue("codes")),
	}
}

// ShowCodes shows the secret of an authenticator app and the recovery codes, and asks for a code of the app. more are
// further hidden fields of the form.
func (v *Visit) ShowCodes(status int, o account.PasswordOffer, action string, problem error, more ...desk.Hidden) error {
	qr, err := views.NewQR(o.URI)
	if err != nil {
		return err
	}
	return v.Show(status, desk.CodesPage(desk.Codes{
		BareFrame: v.BareFrame(v.Text("desk.codes")), Heading: v.Text("desk.codes"), Intro: v.Text("desk.codes.text"), Action: action, Problem: v.Problem(problem),
		QR: qr, Title: v.Text("desk.codes.qr"), Secret: views.AddressGroups(o.Seed), Recovery: o.Codes,
		Code: v.CodeField("code", v.Text("desk.codes.hint")), Button: v.Text("desk.codes.done"),
		Hidden: append(more,
			desk.Hidden{Name: "offer", Value: o.Sealed}, desk.Hidden{Name: "seed", Value: o.Seed},
			desk.Hidden{Name: "uri", Value: o.URI}, desk.Hidden{Name: "codes", Value: strings.Join(o.Codes, " ")}),
	}))
}
