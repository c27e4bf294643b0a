package team

import (
	"errors"
	"net/http"

	"chequer/internal/notify"
	"chequer/views"
	"chequer/views/desk"
)

// emailPath is the path of the page that confirms the e-mail address of the account.
const emailPath = notificationsPath + "/email"

// askToConfirmEmail shows the form that confirms the address of an opened link. Opening the link is not enough, because
// mail programs open links by themselves.
func (v *page) askToConfirmEmail() error {
	token := v.QueryParam("token")
	email, err := v.Notifications.Pending(v.Request().Context(), v.Account, token)
	if errors.Is(err, notify.ErrLink) {
		return v.answerNotificationsChange(err, nil, "")
	}
	if err != nil {
		return err
	}
	heading := v.Text("desk.notifications.confirm.ask")
	f, err := v.Frame(heading, "/account")
	if err != nil {
		return err
	}
	return v.Show(http.StatusOK, desk.DecisionPage(desk.Decision{
		Frame: f, Back: views.Link{Text: v.Text("desk.notifications"), URL: v.Below(notificationsPath)}, Heading: heading,
		Results: []desk.Result{{Shape: "ok", Text: v.Text("desk.notifications.confirm.text", "Email", email)}},
		Action:  v.Below(emailPath), Hidden: []desk.Hidden{{Name: "token", Value: token}}, Button: v.Text("desk.notifications.confirm"),
	}))
}

// confirmEmail confirms the address of the link whose token is in the form.
func (v *page) confirmEmail() error {
	return v.answerNotificationsChange(v.Notifications.Verify(v.Request().Context(), v.Account, v.FormValue("token")), nil, "email-confirmed")
}

// sendLink sends the link to the unconfirmed address again.
func (v *page) sendLink() error {
	return v.answerNotificationsChange(v.Notifications.SendLink(v.Request().Context(), v.Account), nil, "email-link")
}
