package desk

import (
	"errors"
	"net/http"
	"strings"

	"chequer/internal/account"
	"chequer/views"
	"chequer/views/desk"
)

// start asks for the token of a link. The token is in the fragment of the link, which browsers do not
// send; the script posts it, and without a script the reader pastes it.
func (v *visit) start() error { return v.showStart(http.StatusOK, nil) }

func (v *visit) showStart(status int, problem error) error {
	set, err := v.Accounts.SetUp(v.Request().Context())
	if err != nil {
		return err
	}
	heading, lede := v.text("desk.start"), v.text("desk.start.text")
	if set {
		heading, lede = v.text("desk.link"), v.text("desk.link.text")
	}
	return render(v, status, desk.StartPage(desk.Start{
		Solo: v.solo(heading), Heading: heading, Lede: lede, Action: v.path("/desk/start"), Problem: v.problem(problem), Button: v.text("desk.continue"),
		Token: desk.Field{Name: "token", Label: v.text("desk.link.field"), Hint: v.text("desk.link.hint"), Kind: "text", Complete: "off", Code: true},
	}))
}

// linkToken returns the token that a form has: alone, or as the fragment of the whole link.
func (v *visit) linkToken() string {
	text := strings.TrimSpace(v.FormValue("token"))
	return text[strings.LastIndexByte(text, '#')+1:]
}

// openLink shows the form of a link's account. It does not use up the link.
func (v *visit) openLink() error { return v.showJoin(http.StatusOK, nil) }

// joinHeadings are the keys of the heading and the text of a link's page.
var joinHeadings = map[account.TicketKind][2]string{
	account.StartTicket:      {"desk.join.owner", "desk.join.owner.text"},
	account.InvitationTicket: {"desk.join.invited", "desk.join.invited.text"},
	account.RecoveryTicket:   {"desk.join.recovery", "desk.join.recovery.text"},
}

// showJoin shows the form of a link's account with the error of the last attempt.
func (v *visit) showJoin(status int, problem error) error {
	token := v.linkToken()
	ticket, a, err := v.Accounts.Ticket(v.Request().Context(), token)
	if errors.Is(err, account.ErrTicket) {
		return v.showStart(http.StatusUnprocessableEntity, err)
	}
	if err != nil {
		return err
	}
	words := joinHeadings[ticket.Kind]
	ends := v.clock(ticket.ExpiresAt)
	page := desk.NewAccount{
		Solo: v.solo(v.text(words[0])), Heading: v.text(words[0]), Lede: v.text(words[1], "Time", ends), Problem: v.problem(problem),
		Action: v.path("/desk/start/password"), Hidden: []desk.Hidden{{Name: "token", Value: token}},
		Password: v.passwordField("password", "new-password"),
	}
	page.Password.Hint, page.Password.Error = v.text("desk.password.hint"), v.fieldProblem(problem, "password")
	if ticket.Kind != account.RecoveryTicket {
		page.Name = desk.Field{Name: "name", Label: v.text("desk.join.name"), Hint: v.text("desk.join.name.hint"), Kind: "text", Complete: "username", Value: v.FormValue("name"), Error: v.fieldProblem(problem, "name")}
	} else {
		page.Lede = v.text(words[1], "Time", ends) + " " + v.text("desk.join.recovery.name", "Name", a.Name)
	}
	page.Passkey = v.passkey(desk.Passkey{
		Action: v.path("/desk/start/passkey"), Create: true, Button: v.text("desk.passkey.create"), Hidden: page.Hidden,
		Text: v.text("desk.passkey.host", "Host", v.Accounts.Site.Host), Name: "name",
	})
	return render(v, status, desk.NewAccountPage(page))
}

// joinPassword prepares a password for a link's account, and shows the secret of the authenticator app.
func (v *visit) joinPassword() error {
	offer, err := v.Accounts.OfferJoinPassword(v.Request().Context(), v.linkToken(), v.FormValue("name"), v.FormValue("password"))
	if v.known(err) {
		return v.showJoin(http.StatusUnprocessableEntity, err)
	}
	if err != nil {
		return err
	}
	return v.showCodes(http.StatusOK, offer, v.path("/desk/start/code"), nil, desk.Hidden{Name: "token", Value: v.linkToken()})
}

// joinCode creates a link's account after its authenticator app has shown a code.
func (v *visit) joinCode() error {
	offer := v.shownOffer()
	in, err := v.Accounts.JoinPassword(v.Request().Context(), v.linkToken(), offer.Sealed, v.FormValue("code"), client(v), v.former(v))
	if errors.Is(err, account.ErrCode) {
		return v.showCodes(http.StatusUnprocessableEntity, offer, v.path("/desk/start/code"), err, desk.Hidden{Name: "token", Value: v.linkToken()})
	}
	return v.joined(in, err)
}

// joinOptions returns the options of the browser's call that creates a passkey.
func (v *visit) joinOptions() error {
	return v.sendOptions(v.Accounts.OfferJoinPasskey(v.Request().Context(), v.linkToken(), v.FormValue("name")))
}

// joinPasskey creates a link's account with a passkey.
func (v *visit) joinPasskey() error {
	offer, response := v.credential()
	in, err := v.Accounts.JoinPasskey(v.Request().Context(), v.linkToken(), offer, response, client(v).Browser, client(v), v.former(v))
	return v.joined(in, err)
}

// joined answers the use of a link.
func (v *visit) joined(in account.SignedIn, err error) error {
	if v.known(err) {
		return v.showJoin(http.StatusUnprocessableEntity, err)
	}
	if err != nil {
		return err
	}
	v.setSession(v, in)
	shops := in.Account.Shops()
	if len(shops) == 0 {
		return v.Redirect(seeOther, v.path("/desk"))
	}
	return v.done(v.path("/desk/"+shops[0]+"/account"), "joined")
}

// shownOffer returns the prepared password that the form carries. Seed, address and recovery codes are
// only shown again; the sealed part decides.
func (v *visit) shownOffer() account.PasswordOffer {
	return account.PasswordOffer{
		Sealed: v.FormValue("offer"), Seed: v.FormValue("seed"), URI: v.FormValue("uri"), Codes: strings.Fields(v.FormValue("codes")),
	}
}

// showCodes shows the secret of an authenticator app and the recovery codes, and asks for a code.
func (v *visit) showCodes(status int, o account.PasswordOffer, action string, problem error, more ...desk.Hidden) error {
	qr, err := views.NewQR(o.URI)
	if err != nil {
		return err
	}
	return render(v, status, desk.CodesPage(desk.Codes{
		Solo: v.solo(v.text("desk.codes")), Heading: v.text("desk.codes"), Lede: v.text("desk.codes.text"), Action: action, Problem: v.problem(problem),
		QR: qr, Title: v.text("desk.codes.qr"), Secret: views.AddressGroups(o.Seed), Recovery: o.Codes,
		Code: v.codeField("code", v.text("desk.codes.hint")), Button: v.text("desk.codes.done"),
		Hidden: append(more,
			desk.Hidden{Name: "offer", Value: o.Sealed}, desk.Hidden{Name: "seed", Value: o.Seed},
			desk.Hidden{Name: "uri", Value: o.URI}, desk.Hidden{Name: "codes", Value: strings.Join(o.Codes, " ")}),
	}))
}
