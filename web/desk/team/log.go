package team

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/internal/wire"
	"chequer/views/desk"
)

// logPage is the number of entries on a page of the audit log.
const logPage = 50

// log shows the audit log of the server, newest first.
func (v *page) log() error {
	below, err := strconv.ParseInt(v.QueryParam("below"), 10, 64)
	if err != nil || below < 1 {
		below = 0
	}
	entries, err := v.Audit.AuditLog(v.Request().Context(), below, logPage+1)
	if err != nil {
		return err
	}
	f, err := v.Frame(v.Text("desk.log"), v.SettingsPath())
	if err != nil {
		return err
	}
	page := desk.Log{Frame: f, Tabs: v.SettingsTabs("/log")}
	if len(entries) > logPage {
		entries = entries[:logPage]
		page.Older = v.Below("/log?below=" + strconv.FormatInt(entries[logPage-1].Number, 10))
	}
	for _, e := range entries {
		if shop := e.Change.MerchantID; shop != "" && v.Account.Allows(shop, account.ViewLog) == account.Denied {
			continue // the account may not view the log of this entry's shop
		}
		page.Entries = append(page.Entries, v.logEntry(e))
	}
	return v.Show(http.StatusOK, desk.LogPage(page))
}

// logEntry returns an entry of the audit log as a row.
func (v *page) logEntry(e audit.Entry) desk.Entry {
	change := v.actionText(e.Change.Action)
	if e.Change.Subject != "" {
		change += ": " + e.Change.Subject
	}
	var details []string
	if d := differences(e.Change); d != "" {
		details = append(details, d)
	}
	if e.Actor.SteppedUp {
		details = append(details, v.Text("desk.log.confirmed"))
	}
	if e.Actor.Address != "" {
		details = append(details, e.Actor.Address)
	}
	return desk.Entry{
		Number: strconv.FormatInt(e.Number, 10), Change: change, Actor: e.Actor.String(), Detail: strings.Join(details, " · "), At: v.Clock(e.At), Time: wire.Time(e.At),
	}
}

// differences returns the values that a change replaced, removed or set.
func differences(c audit.Change) string {
	names := slices.Sorted(maps.Keys(c.Before))
	for name := range c.After {
		if _, known := c.Before[name]; !known {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var parts []string
	for _, name := range names {
		before, had := c.Before[name]
		after, has := c.After[name]
		words := plainWords(name)
		switch {
		case had && has:
			parts = append(parts, words+": "+before+" → "+after)
		case had:
			parts = append(parts, words+": "+before+" →")
		default:
			parts = append(parts, words+": "+after)
		}
	}
	return strings.Join(parts, ", ")
}
