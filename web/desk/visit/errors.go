package visit

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"chequer/internal/account"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/views"
	"chequer/views/desk"
)

// IsNotFound reports whether an error means that an account, an invoice or a merchant does not exist.
func IsNotFound(err error) bool {
	return errors.Is(err, account.ErrNotFound) || errors.Is(err, invoice.ErrNotFound) || errors.Is(err, merchant.ErrNotFound)
}

// statusOf returns the HTTP status of the answer for an error.
func statusOf(err error) int {
	if httpErr, ok := errors.AsType[*echo.HTTPError](err); ok {
		return httpErr.Code
	}
	if _, refused := errors.AsType[*refusal](err); refused {
		return http.StatusForbidden
	}
	switch {
	case IsNotFound(err):
		return http.StatusNotFound
	case errors.Is(err, errCrossSite), errors.Is(err, errInsecure), errors.Is(err, errInsecureAddress), errors.Is(err, errConfirm):
		return http.StatusForbidden
	case errors.Is(err, ErrSignedOut):
		return http.StatusUnauthorized
	}
	return http.StatusInternalServerError
}

// fail answers a request whose handler returned err. Internal errors are logged and not shown.
func (s *Site) fail(err error, c echo.Context) {
	ctx := c.Request().Context()
	if errors.Is(ctx.Err(), context.Canceled) || c.Response().Committed {
		return
	}
	v, ok := c.Get(visitKey).(*Visit)
	if !ok {
		v = &Visit{Context: c, Site: s}
	}
	status := statusOf(err)
	if status >= http.StatusInternalServerError {
		s.Log.ErrorContext(ctx, "desk failed", "route", c.Path(), "error", err)
	}
	if err := v.answerError(err, status); err != nil {
		s.Log.ErrorContext(ctx, "error page of the desk failed", "error", err)
	}
}

// answerError answers a request that failed.
func (v *Visit) answerError(err error, status int) error {
	if v.wantsJSON() {
		return v.JSON(status, passkeyFault{v.faultText(err, status)})
	}
	if r, refused := errors.AsType[*refusal](err); refused {
		return v.refuse(r)
	}
	switch {
	case errors.Is(err, ErrSignedOut):
		return v.redirectToSignIn()
	case errors.Is(err, errConfirm):
		return v.askToConfirm()
	}
	page := desk.Fault{BareFrame: v.BareFrame(v.faultHeading(err, status)), Heading: v.faultHeading(err, status), Intro: v.faultText(err, status)}
	if !errors.Is(err, errInsecure) && !errors.Is(err, errInsecureAddress) {
		page.Action = views.Link{Text: v.Text("desk.fault.home"), URL: v.Address("/desk")}
	}
	return v.Show(status, desk.FaultPage(page))
}

// faults maps statuses to the keys of the heading and the text of their error pages.
var faults = map[int]struct{ heading, text string }{
	http.StatusNotFound:              {"desk.fault.missing", "desk.fault.missing.text"},
	http.StatusForbidden:             {"desk.fault.foreign", "desk.fault.foreign.text"},
	http.StatusMethodNotAllowed:      {"desk.fault.missing", "desk.fault.missing.text"},
	http.StatusRequestEntityTooLarge: {"desk.fault.long", "desk.fault.long.text"},
	http.StatusUnauthorized:          {"desk.signin", "desk.signin.ended"},
	http.StatusInternalServerError:   {"desk.fault.broken", "desk.fault.broken.text"},
}

func (v *Visit) faultHeading(err error, status int) string {
	if errors.Is(err, errInsecure) || errors.Is(err, errInsecureAddress) {
		return v.Text("desk.fault.insecure")
	}
	if texts, ok := faults[status]; ok {
		return v.Text(texts.heading)
	}
	return v.Text("desk.fault.broken")
}

func (v *Visit) faultText(err error, status int) string {
	switch {
	case errors.Is(err, errInsecure):
		return v.Text("desk.fault.insecure.text", "URL", v.BaseURL)
	case errors.Is(err, errInsecureAddress):
		return v.Text("desk.fault.elsewhere.text", "URL", v.Accounts.Site.URL("/desk"))
	case errors.Is(err, errConfirm):
		return v.Text("desk.confirm.first")
	}
	if problem := v.Problem(err); problem != "" {
		return problem
	}
	if texts, ok := faults[status]; ok {
		return v.Text(texts.text)
	}
	return v.Text("desk.fault.broken.text")
}

// problems are the errors that a form shows, with the keys of their texts.
var problems = []struct {
	err error
	id  string
}{
	{account.ErrSignIn, "desk.problem.signin"},
	{account.ErrPasskey, "desk.problem.passkey"},
	{account.ErrCode, "desk.problem.code"},
	{account.ErrTicket, "desk.problem.link"},
	{account.ErrOffer, "desk.problem.offer"},
	{account.ErrExists, "desk.problem.exists"},
	{account.ErrLastMethod, "desk.problem.last.method"},
	{account.ErrLastOwner, "desk.problem.last.owner"},
}

// Problem returns the text of an error that a form shows above its fields; "" for any other error.
func (v *Visit) Problem(err error) string {
	if wait, ok := errors.AsType[*account.WaitError](err); ok {
		return v.Words.Count("desk.problem.wait", wait.Seconds())
	}
	for _, p := range problems {
		if errors.Is(err, p.err) {
			return v.Text(p.id)
		}
	}
	return ""
}

// fieldNames are the keys of the texts that name a field and state the fault of a *account.FieldError.
var fieldNames = map[string]string{"name": "desk.field.name", "password": "desk.field.password", "role": "desk.field.role"}

// FieldProblem returns the text of an error about a field; "" if the error is not about this field.
func (v *Visit) FieldProblem(err error, field string) string {
	if wrong, ok := errors.AsType[*account.FieldError](err); ok && wrong.Field == field {
		return v.Text(fieldNames[field], "Fault", wrong.Fault)
	}
	return ""
}

// IsShownInForm reports whether a form shows the error: the answer is then the form with the error.
func (v *Visit) IsShownInForm(err error) bool {
	_, isField := errors.AsType[*account.FieldError](err)
	return isField || v.Problem(err) != ""
}

// refuse answers with the page that says which accounts have the missing permission.
func (v *Visit) refuse(r *refusal) error {
	team, err := v.Accounts.Team(v.Request().Context())
	if err != nil {
		return err
	}
	byRole := map[account.Role][]string{}
	for _, a := range team {
		byRole[a.Role(v.Shop.ID)] = append(byRole[a.Role(v.Shop.ID)], a.Name)
	}
	var holders []string
	for _, role := range r.needs.Holders() {
		if len(byRole[role]) > 0 {
			holders = append(holders, v.Text("desk.refused.role", "Role", v.RoleName(role), "Names", strings.Join(byRole[role], ", ")))
		}
	}
	if len(holders) == 0 {
		holders = append(holders, v.Text("desk.refused.none"))
	}
	f, err := v.Frame(v.Text("desk.refused"), "")
	if err != nil {
		return err
	}
	subject := v.Text("desk.may.other")
	if id, ok := permissionNames[r.needs]; ok {
		subject = v.Text(id)
	}
	return v.Show(http.StatusForbidden, desk.RefusalPage(desk.Refusal{
		Frame: f, Heading: v.Text("desk.refused"), Intro: v.Text("desk.refused.text", "Subject", subject, "Accounts", strings.Join(holders, "; ")),
		Back: views.Link{Text: v.Text("desk.fault.home"), URL: v.Below("")},
	}))
}

// redirectToSignIn redirects to the sign-in, which then leads back to the requested page.
func (v *Visit) redirectToSignIn() error {
	address := v.Address("/desk/signin")
	if next := v.LocalPath(v.Request().URL.RequestURI()); isSafe(v.Request()) && next != "" {
		address += "?next=" + url.QueryEscape(next)
	}
	return v.Redirect(http.StatusSeeOther, address)
}

// RetryAfter returns the status of the answer with a form that shows err, which is 422. If err is an *account.WaitError,
// it is 429, and RetryAfter sets the Retry-After header.
func (v *Visit) RetryAfter(err error) int {
	wait, ok := errors.AsType[*account.WaitError](err)
	if !ok {
		return http.StatusUnprocessableEntity
	}
	v.Response().Header().Set("Retry-After", strconv.Itoa(wait.Seconds()))
	return http.StatusTooManyRequests
}
