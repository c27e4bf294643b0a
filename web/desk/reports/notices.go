package reports

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/internal/merchant"
	"chequer/views/desk"
)

// noticesPath is the path of the action that dismisses notices.
const noticesPath = "/notices/dismiss"

// walletTexts are the keys of the texts of notices about wallets.
var walletTexts = map[merchant.Change]string{
	merchant.WalletAdded: "desk.security.wallet.added", merchant.WalletReplaced: "desk.security.wallet.replaced", merchant.WalletRemoved: "desk.security.wallet.removed",
}

// accountTexts are the keys of the texts of notices about accounts, except those about roles.
var accountTexts = map[account.Kind]string{
	account.Removed:         "desk.security.account.removed",
	account.RecoveryCreated: "desk.security.recovery",
	account.Recovered:       "desk.security.recovered",
	account.PasswordSet:     "desk.security.password.set",
	account.PasswordRemoved: "desk.security.password.removed",
	account.PasskeyAdded:    "desk.security.passkey.added",
	account.PasskeyRemoved:  "desk.security.passkey.removed",
}

// addNotices adds the changes of wallets, owners and sign-in methods that the account has not dismissed.
func (v *page) addNotices(page *desk.Overview) error {
	entries, err := v.Accounts.Notices(v.Request().Context(), v.Account, v.Shop.ID)
	if err != nil || len(entries) == 0 {
		return err
	}
	for _, e := range entries {
		page.Notices = append(page.Notices, desk.SecurityNotice{
			Text: v.noticeText(e.Change), Detail: v.Text("desk.security.detail", "Actor", e.Actor.String(), "Time", v.Clock(e.At)),
			URL: v.Below("/log?below=" + strconv.FormatInt(e.Number+1, 10)),
		})
	}
	page.Dismiss = desk.Button{
		Action: v.Below(noticesPath), Text: v.Text("desk.security.dismiss"),
		Hidden: []desk.Hidden{{Name: "newest", Value: strconv.FormatInt(entries[0].Number, 10)}},
	}
	return nil
}

// noticeText returns the text of a notice.
func (v *page) noticeText(c audit.Change) string {
	noun, change, _ := strings.Cut(c.Action, ".")
	if noun == "wallet" {
		return v.Text(walletTexts[merchant.Change(change)], "Asset", cmp.Or(c.After["asset"], c.Before["asset"]))
	}
	id, known := accountTexts[account.Kind(change)]
	switch {
	case !known && account.MadeOwner(c, v.Shop.ID):
		id = "desk.security.owner"
	case !known:
		id = "desk.security.owner.former"
	}
	return v.Text(id, "Name", c.Subject)
}

// dismissNotices dismisses the notices that the account has seen.
func (v *page) dismissNotices() error {
	newest, err := strconv.ParseInt(v.FormValue("newest"), 10, 64)
	if err != nil {
		newest = 0
	}
	if err := v.Accounts.DismissNotices(v.Request().Context(), v.Account, v.Shop.ID, newest); err != nil {
		return err
	}
	return v.Redirect(http.StatusSeeOther, v.Below(""))
}
