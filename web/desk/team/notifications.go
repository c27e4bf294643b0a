package team

import (
	"cmp"
	"errors"
	"net/http"
	"slices"

	"chequer/internal/notify"
	"chequer/views"
	"chequer/views/desk"
)

// notificationsPath is the path of the notifications of the account.
const notificationsPath = "/account/notifications"

// kindNames are the keys of the names and the hints of kinds.
var kindNames = map[notify.Kind]struct{ name, hint string }{
	notify.Sold:      {"desk.notifications.sold", "desk.notifications.sold.hint"},
	notify.Attention: {"desk.notifications.attention", "desk.notifications.attention.hint"},
	notify.Broken:    {"desk.notifications.broken", "desk.notifications.broken.hint"},
	notify.Summary:   {"desk.notifications.summary", "desk.notifications.summary.hint"},
	notify.Test:      {name: "desk.notifications.test"},

	notify.Verification: {name: "desk.notifications.verification"},
}

// channelsInSentence are the keys of the names of channels in a sentence.
var channelsInSentence = map[notify.Channel]string{notify.Mail: "desk.notifications.channel.mail", notify.Push: "desk.notifications.channel.push"}

// notifications shows the kinds, the addresses and the times of the notifications of the account.
func (v *page) notifications() error {
	settings, err := v.Notifications.Settings(v.Request().Context(), v.Account.ID)
	if err != nil {
		return err
	}
	return v.showNotifications(http.StatusOK, storedSettings(settings), nil)
}

// enteredSettings are the values of the fields.
type enteredSettings struct {
	notify.Destinations
	notify.Times
}

// storedSettings returns the values of the fields for stored settings.
func storedSettings(settings notify.Settings) enteredSettings {
	from, to := settings.Quiet.Clocks()
	return enteredSettings{
		notify.Destinations{Email: cmp.Or(settings.Pending.Email, settings.Email), PushURL: settings.PushURL},
		notify.Times{Zone: settings.Zone, QuietFrom: from, QuietTo: to, BrokenIgnoresQuiet: settings.BrokenIgnoresQuiet},
	}
}

// showNotifications shows the page with values that were entered.
func (v *page) showNotifications(status int, e enteredSettings, problem error) error {
	f, err := v.Frame(v.Text("desk.notifications"), "/account")
	if err != nil {
		return err
	}
	settings, err := v.Notifications.Settings(v.Request().Context(), v.Account.ID)
	if err != nil {
		return err
	}
	field := func(name, label, hint, value string) desk.Field {
		field := v.TextField(name, label, hint, value)
		if wrong, ok := errors.AsType[*notify.FieldError](problem); ok && wrong.Field == name {
			field.Error = v.Text("desk.field.fault", "Name", field.Label, "Fault", wrong.Fault)
		}
		return field
	}
	n := desk.Notifications{
		Frame: f, Back: views.Link{Text: v.Text("desk.account.own"), URL: v.Below("/account")}, Problem: v.notifyProblem(problem),
		Choose: v.Below(notificationsPath), SetTimes: v.Below(notificationsPath + "/times"), SetDestinations: v.Below(notificationsPath + "/where"),
		Zone: field("zone", "desk.notifications.zone", "desk.notifications.zone.hint", e.Zone),
		From: field("quiet_from", "desk.notifications.from", "desk.notifications.from.hint", e.QuietFrom), To: field("quiet_to", "desk.notifications.to", "", e.QuietTo), BrokenIgnoresQuiet: e.BrokenIgnoresQuiet,
		Email:     field("email", "desk.notifications.email", "", e.Email),
		PushURL:   field("push_url", "desk.notifications.url", "desk.notifications.url.hint", e.PushURL),
		PushToken: field("push_token", "desk.notifications.token", "desk.notifications.token.hint", ""), HasToken: settings.PushToken != "",
	}
	n.Receives, n.GetsBroken = v.receives(), notify.Broken.AllowedInAnyShop(v.Account)
	n.HasDestination = hasDestination(settings)
	n.Email.Kind, n.Email.Complete, n.PushToken.Kind = "email", "email", "password"
	if n.HasToken {
		n.PushToken.Hint = v.Text("desk.notifications.token.kept")
	}
	if settings.Pending.Email != "" {
		n.Pending = v.pendingText(settings)
		if v.Notifications.HasMail() {
			n.SendLink = desk.Button{Action: v.Below(emailPath + "/link"), Text: v.Text("desk.notifications.link.send")}
		}
	}
	if n.Receives && !v.Notifications.HasMail() {
		n.Warning = v.Text("desk.notifications.nomail")
	}
	if settings.PushURL != "" || settings.Email != "" && v.Notifications.HasMail() {
		n.Test = desk.Button{Action: v.Below(notificationsPath + "/test"), Text: v.Text("desk.notifications.test.send")}
	}
	if n.Kinds, err = v.kinds(settings); err != nil {
		return err
	}
	if n.Messages, err = v.sentMessages(); err != nil {
		return err
	}
	return v.Show(status, desk.NotificationsPage(n))
}

// receives reports whether the account may get a notification in one of its shops.
func (v *page) receives() bool {
	return slices.ContainsFunc(notify.Kinds, func(k notify.Kind) bool { return k.AllowedInAnyShop(v.Account) })
}

// hasDestination reports whether the account has stored an address for notifications.
func hasDestination(set notify.Settings) bool {
	return set.Email != "" || set.PushURL != "" || set.Pending.Email != ""
}

// pendingText returns which address waits for its confirmation, and where messages go until then.
func (v *page) pendingText(set notify.Settings) string {
	switch {
	case !v.Notifications.HasMail():
		return v.Text("desk.notifications.pending.nomail", "Email", set.Pending.Email)
	case set.Email == "":
		return v.Text("desk.notifications.pending.first", "Email", set.Pending.Email)
	}
	return v.Text("desk.notifications.pending.change", "Email", set.Pending.Email, "Former", set.Email)
}

// notifyProblem returns the text of an error that the page shows above its forms; "" for any other error.
func (v *page) notifyProblem(err error) string {
	if _, ok := errors.AsType[*notify.FieldError](err); ok {
		return v.Text("desk.problem.field")
	}
	switch {
	case errors.Is(err, notify.ErrTooMany):
		return v.Text("desk.notifications.toomany")
	case errors.Is(err, notify.ErrNoDestination):
		return v.Text("desk.notifications.nowhere")
	case errors.Is(err, notify.ErrLink):
		return v.Text("desk.notifications.link.wrong")
	}
	return ""
}

// kinds returns, for each channel, the check boxes of the kinds that the account may get in the shop.
func (v *page) kinds(settings notify.Settings) (all []desk.Checks, err error) {
	chosen, err := v.Notifications.Choices(v.Request().Context(), v.Account.ID, v.Shop.ID)
	if err != nil {
		return nil, err
	}
	for i, channel := range notify.Channels {
		boxes := desk.Checks{Name: string(channel), Label: v.Text(channel.Label())}
		if settings.Destination(channel) == "" {
			boxes.Hint = v.Text("desk.notifications.unset")
		}
		for _, kind := range notify.Kinds {
			if kind.AllowedTo(v.Account, v.Shop.ID) {
				box := desk.CheckOption{Value: string(kind), Text: v.Text(kindNames[kind].name), Chosen: slices.Contains(chosen, notify.Choice{Kind: kind, Channel: channel})}
				if i == 0 { // the hints are shown once, beside the first channel
					box.Hint = v.Text(kindNames[kind].hint)
				}
				boxes.Options = append(boxes.Options, box)
			}
		}
		if len(boxes.Options) > 0 {
			all = append(all, boxes)
		}
	}
	return all, nil
}

// sentMessages returns the newest messages of the account.
func (v *page) sentMessages() (all []desk.Finding, err error) {
	messages, err := v.Notifications.Messages(v.Request().Context(), v.Account.ID)
	for _, m := range messages {
		row := desk.Finding{
			About: v.Text("desk.notifications.message", "Kind", v.Text(kindNames[m.Kind].name), "Channel", v.Text(channelsInSentence[m.Channel])),
			Shape: "wait",
		}
		created, next := v.Clock(m.CreatedAt), v.Clock(m.NextAttemptAt)
		switch {
		case m.State == notify.Sent:
			row.Shape, row.Text = "ok", v.Text("desk.notifications.sent", "Time", created)
		case m.State == notify.Dropped:
			row.Shape, row.Text = "off", v.Text("desk.notifications.dropped", "Time", created)
		case m.State == notify.Failed:
			row.Shape, row.Text = "bad", v.Text("desk.notifications.failed", "Fault", m.Fault, "Time", created)
		case m.Fault != "":
			row.Shape, row.Text = "warn", v.Text("desk.notifications.retried", "Fault", m.Fault, "Next", next, "Time", created)
		default:
			row.Text = v.Text("desk.notifications.pending", "Next", next, "Time", created)
		}
		all = append(all, row)
	}
	return all, err
}

// chooseKinds sets the kinds of which the account is informed in the shop.
func (v *page) chooseKinds() error {
	form, err := v.FormParams()
	if err != nil {
		return err
	}
	var choices []notify.Choice
	for _, channel := range notify.Channels {
		for _, kind := range form[string(channel)] {
			choices = append(choices, notify.Choice{Kind: notify.Kind(kind), Channel: channel})
		}
	}
	return v.answerNotificationsChange(v.Notifications.Choose(v.Request().Context(), v.Account, v.Shop.ID, choices), nil, "notifications")
}

// setTimes sets the time zone and the quiet hours.
func (v *page) setTimes() error {
	t := notify.Times{Zone: v.FormValue("zone"), QuietFrom: v.FormValue("quiet_from"), QuietTo: v.FormValue("quiet_to"), BrokenIgnoresQuiet: v.FormValue("broken_passes") != ""}
	return v.answerNotificationsChange(v.Notifications.SetTimes(v.Request().Context(), v.Account, t), func(e *enteredSettings) { e.Times = t }, "notifications")
}

// setDestinations sets where the account gets messages.
func (v *page) setDestinations() error {
	d := notify.Destinations{
		Email: v.FormValue("email"), PushURL: v.FormValue("push_url"), PushToken: v.FormValue("push_token"), NoToken: v.FormValue("no_token") != "",
	}
	return v.answerNotificationsChange(v.Notifications.SetDestinations(v.Request().Context(), v.Account, d), func(e *enteredSettings) { e.Destinations = d }, "notifications")
}

// sendTest sends a test message.
func (v *page) sendTest() error {
	return v.answerNotificationsChange(v.Notifications.SendTest(v.Request().Context(), v.Account, v.Shop.ID), nil, "test-message")
}

// answerNotificationsChange answers a change of the notifications, which returned err. If the change was refused, enter
// sets the values that were entered, so that the form shows them again.
func (v *page) answerNotificationsChange(err error, enter func(*enteredSettings), result string) error {
	if err == nil {
		return v.Done(v.Below(notificationsPath), result)
	}
	if v.notifyProblem(err) == "" {
		return err
	}
	settings, readErr := v.Notifications.Settings(v.Request().Context(), v.Account.ID)
	if readErr != nil {
		return readErr
	}
	e, status := storedSettings(settings), http.StatusUnprocessableEntity
	if enter != nil {
		enter(&e)
	}
	if errors.Is(err, notify.ErrTooMany) {
		status = http.StatusTooManyRequests
	}
	return v.showNotifications(status, e, err)
}
