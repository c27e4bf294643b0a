package signin

import (
	"errors"
	"net/http"
	"strings"

	"chequer/internal/account"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// start asks for the token of a link. The token is in the fragment of the link, which browsers do not
// send. The script posts it. Without a script the reader pastes the link into the form.
func (v *page) start() error { return v.showStart(http.StatusOK, nil) }

func (v *page) showStart(status int, problem error) error {
	isSetUp, err := v.Accounts.SetUp(v.Request().Context())
	if err != nil {
		return err
	}
	heading, intro := v.Text("desk.start"), v.Text("desk.start.text")
	if isSetUp {
		heading, intro = v.Text("desk.link"), v.Text("desk.link.text")
	}
	return v.Show(status, desk.StartPage(desk.Start{
		BareFrame: v.BareFrame(heading), Heading: heading, Intro: intro, Action: v.Address("/desk/start"), Problem: v.Problem(problem), Button: v.Text("desk.continue"),
		Token: desk.Field{Name: "token", Label: v.Text("desk.link.field"), Hint: v.Text("desk.link.hint"), Kind: "text", Complete: "off", Code: true},
	}))
}

// linkToken returns the token in the field of a form, which holds the token alone or the complete link with the token as
// its fragment.
func (v *page) linkToken() string {
	text := strings.TrimSpace(v.FormValue("token"))
	return text[strings.LastIndexByte(text, '#')+1:]
}

// openLink shows the form of a link's account. It does not use up the link.
func (v *page) openLink() error { return v.showJoin(http.StatusOK, nil) }

// joinHeadings are the keys of the heading and the text of a link's page.
var joinHeadings = map[account.TicketKind]struct{ heading, text string }{
	account.StartTicket:      {"desk.join.owner", "desk.join.owner.text"},
	account.InvitationTicket: {"desk.join.invited", "desk.join.invited.text"},
	account.RecoveryTicket:   {"desk.join.recovery", "desk.join.recovery.text"},
}

// showJoin shows the form of a link's account with the error of the last attempt.
func (v *page) showJoin(status int, problem error) error {
	token := v.linkToken()
	ticket, a, err := v.Accounts.Ticket(v.Request().Context(), token)
	if errors.Is(err, account.ErrTicket) {
		return v.showStart(http.StatusUnprocessableEntity, err)
	}
	if err != nil {
		return err
	}
	texts := joinHeadings[ticket.Kind]
	ends := v.Clock(ticket.ExpiresAt)
	page := desk.NewAccount{
		BareFrame: v.BareFrame(v.Text(texts.heading)), Heading: v.Text(texts.heading), Intro: v.Text(texts.text, "Time", ends), Problem: v.Problem(problem),
		Action: v.Address("/desk/start/password"), Hidden: []desk.Hidden{{Name: "token", Value: token}},
		Password: v.PasswordField("password", "new-password"),
	}
	page.Password.Hint, page.Password.Error = v.Text("desk.password.hint"), v.FieldProblem(problem, "password")
	if ticket.Kind != account.RecoveryTicket {
		page.Name = desk.Field{Name: "name", Label: v.Text("desk.join.name"), Hint: v.Text("desk.join.name.hint"), Kind: "text", Complete: "username", Value: v.FormValue("name"), Error: v.FieldProblem(problem, "name")}
	} else {
		page.Intro = v.Text(texts.text, "Time", ends) + " " + v.Text("desk.join.recovery.name", "Name", a.Name)
	}
	page.Passkey = v.Passkey(desk.Passkey{
		Action: v.Address("/desk/start/passkey"), Create: true, Button: v.Text("desk.passkey.create"), Hidden: page.Hidden,
		Text: v.Text("desk.passkey.host", "Host", v.Accounts.Site.Host), Name: "name",
	})
	return v.Show(status, desk.NewAccountPage(page))
}

// joinPassword prepares a password for a link's account, and shows the secret of the authenticator app.
func (v *page) joinPassword() error {
	offer, err := v.Accounts.OfferJoinPassword(v.Request().Context(), v.linkToken(), v.FormValue("name"), v.FormValue("password"))
	if v.IsShownInForm(err) {
		return v.showJoin(http.StatusUnprocessableEntity, err)
	}
	if err != nil {
		return err
	}
	return v.ShowCodes(http.StatusOK, offer, v.Address("/desk/start/code"), nil, desk.Hidden{Name: "token", Value: v.linkToken()})
}

// joinCode creates a link's account after its authenticator app has shown a code.
func (v *page) joinCode() error {
	offer := v.ShownOffer()
	in, err := v.Accounts.JoinPassword(v.Request().Context(), v.linkToken(), offer.Sealed, v.FormValue("code"), v.Client(), v.FormerSession())
	if errors.Is(err, account.ErrCode) {
		return v.ShowCodes(http.StatusUnprocessableEntity, offer, v.Address("/desk/start/code"), err, desk.Hidden{Name: "token", Value: v.linkToken()})
	}
	return v.answerJoin(in, err)
}

// joinOptions returns the options of the browser's call that creates a passkey.
func (v *page) joinOptions() error {
	return v.SendOptions(v.Accounts.OfferJoinPasskey(v.Request().Context(), v.linkToken(), v.FormValue("name")))
}

// joinPasskey creates a link's account with a passkey.
func (v *page) joinPasskey() error {
	offer, response := v.Credential()
	in, err := v.Accounts.JoinPasskey(v.Request().Context(), v.linkToken(), offer, response, v.Client().Browser, v.Client(), v.FormerSession())
	return v.answerJoin(in, err)
}

// answerJoin answers the use of a link, which returned err. A new owner continues with the second step of the first run, a
// recovered account with its sign-in methods, and any other account with its first page.
func (v *page) answerJoin(in account.SignedIn, err error) error {
	if v.IsShownInForm(err) {
		return v.showJoin(http.StatusUnprocessableEntity, err)
	}
	if err != nil {
		return err
	}
	v.SetSession(in)
	shops := in.Account.Shops()
	if len(shops) == 0 {
		return v.Redirect(http.StatusSeeOther, v.Address("/desk"))
	}
	home := v.Address("/desk/" + shops[0])
	switch in.Ticket {
	case account.StartTicket:
		return v.Redirect(http.StatusSeeOther, home+visit.SetupPath)
	case account.RecoveryTicket:
		return v.Done(home+"/account", "joined")
	}
	return v.Done(home, "joined")
}
