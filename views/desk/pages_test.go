package desk_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"

	"chequer/internal/locale"
	"chequer/views"
	"chequer/views/desk"
)

// evil is a text that would run a script if a page did not escape it.
const evil = `"><script>alert(1)</script>`

// document returns the head of a page with a form token.
func document() desk.Document {
	return desk.Document{
		Language: locale.All().Default(), Title: "Title – Shop", Shop: evil, Token: "form-token",
		Style: "/static/desk.css", Script: "/static/desk.js", Icon: "/static/icon.svg",
	}
}

func bareFrame() desk.BareFrame { return desk.BareFrame{Document: document(), Host: "shop.example"} }

func frame() desk.Frame {
	return desk.Frame{
		Document: document(), Name: evil, Role: "Owner", Account: "/desk/m/account", SignOut: "/desk/signout",
		Places: []desk.Place{{Text: "Payments", URL: "/desk/m/payments", Icon: "payments", Current: true, Count: "3"}, {Text: "Settings", URL: "/desk/m/accounts", Icon: "settings"}},
		Shops:  []views.Link{{Text: evil, URL: "/desk/m"}, {Text: "Other", URL: "/desk/n"}},
		Search: "/desk/m/payments", Query: evil, LiveURL: "/desk/m/payments", TestURL: "/desk/m/payments?mode=test", Test: true, Notice: "Done.",
	}
}

func passkey(create bool) desk.Passkey {
	return desk.Passkey{
		Options: "/desk/options", Action: "/desk/passkey", Create: create, Button: "Use a passkey", Failed: "No passkey.", Text: "Works here.",
		Hidden: []desk.Hidden{{Name: "token", Value: evil}},
	}
}

func field(name string) desk.Field {
	return desk.Field{Name: name, Label: "Label of " + name, Hint: "A hint", Value: evil, Error: "Wrong", Kind: "text", Complete: "off"}
}

func boxes(name string) desk.Checks {
	return desk.Checks{
		Name: name, Label: "Boxes", Hint: "A hint", Error: "Wrong",
		Options: []desk.CheckOption{{Value: "invoice.paid", Text: evil, Hint: evil, Chosen: true}, {Value: "invoice.expired", Text: "Second"}},
	}
}

func keyRow() desk.KeyRow {
	return desk.KeyRow{Name: evil, URL: "/desk/m/keys/k", Key: evil, Test: true, Plugin: true, Scopes: []desk.Scope{{Name: "read"}, {Name: "admin", Wide: true}}, Used: "now", Created: "now"}
}

func webhookRow() desk.WebhookRow {
	return desk.WebhookRow{Name: evil, URL: "/desk/m/webhooks/e", Test: true, State: desk.State{Text: "Failing", Shape: "bad"}, Waiting: "3", Failed: "1", Tried: "now"}
}

func delivery() desk.Delivery {
	return desk.Delivery{
		Type: evil, URL: "/desk/m/webhooks/e/deliveries/v", To: evil, State: desk.State{Text: "Waiting", Shape: "wait"}, Pending: true, Result: evil, Attempts: "2 attempts",
		Next: "01:05", Time: "2026-11-29T01:00:00Z", At: "01:00",
	}
}

func resendable(b desk.Button) desk.Delivery {
	d := delivery()
	d.Resend = b
	return d
}

// lines is a field of several lines.
func lines(name string) desk.Field {
	f := field(name)
	f.Lines = 3
	return f
}

func share() desk.Share {
	return desk.Share{
		Label: "Address", URL: evil, QR: views.QR{ViewBox: "-4 -4.5 29 29", Path: "m0 0h7"}, Title: "QR code", Open: "Open",
		Copy: desk.Copy{ID: "address", Text: "Copy", Done: "Copied", Fail: "Selected"},
	}
}

func refundRow() desk.RefundRow {
	return desk.RefundRow{
		Name: evil, Amount: evil, Value: evil, URL: "/desk/m/payments/i/refund", State: desk.State{Text: "Sent", Shape: "ok"}, Detail: evil,
		Time: "2026-11-29T01:00:00Z", At: "01:00", Tx: views.AddressGroups("8f3c0a61"),
	}
}

// openRefunds are a refund that can be paid, and one that must not be paid now.
func openRefunds() []desk.OpenRefund {
	copyButton := func(id string) desk.Copy { return desk.Copy{ID: id, Text: "Copy", Done: "Copied", Fail: "Selected"} }
	cancel := views.Link{Text: "Cancel refund", URL: "/desk/m/payments/i/refund/r/cancel"}
	sent := desk.RefundTx{Action: "/desk/m/payments/i/refund/r/sent", Field: field("tx-1"), Button: "Mark as sent"}
	return []desk.OpenRefund{
		{
			ID: "1", Heading: evil, State: desk.State{Text: "Ready", Shape: "wait"}, Amount: "0.1", Unit: evil, Value: evil, CopyAmount: copyButton("amount-1"), To: evil,
			Address: views.AddressGroups("bc1qtest"), CopyAddress: copyButton("address-1"), Link: views.Link{Text: "Open wallet app", URL: "bitcoin:bc1qtest?amount=0.1"}, URI: evil,
			CopyURI: copyButton("link-1"), QR: views.QR{ViewBox: "-4 -4.5 29 29", Path: "m0 0h7"}, QRTitle: "QR code", QRHint: evil,
			Checks: []desk.Result{{Shape: "ok", Text: evil}}, Version: "3", Sent: sent, Cancel: cancel,
		},
		{
			ID: "2", Heading: evil, State: desk.State{Text: "Ready", Shape: "wait"}, Warning: desk.Result{Shape: "warn", Text: evil}, Amount: "0.1", Unit: evil, CopyAmount: copyButton("amount-2"), Version: "3",
			Renew: views.Link{Text: evil, URL: "/desk/m/payments/i/refund/r/renew"}, Cancel: cancel,
		},
	}
}

func sweepLine() desk.SweepLine {
	return desk.SweepLine{Number: "1", From: evil, Path: evil, Amount: evil, State: desk.State{Text: "Sent", Shape: "wait"}, Why: evil, Tx: evil, TxPage: "https://explorer.example/t"}
}

// pages are all pages, with a value in every field that they show.
func pages() map[string]templ.Component {
	f, back := frame(), views.Link{Text: "Back", URL: "/desk/m/payments"}
	button := desk.Button{Action: "/desk/m/remove", Text: "Remove", Subject: evil, Hidden: []desk.Hidden{{Name: "id", Value: evil}}, Danger: true}
	choice := desk.Choice{Name: "role", Label: "Role", Error: "Wrong", Options: []desk.Option{{Value: "owner", Text: "Owner", Chosen: true}}}
	return map[string]templ.Component{
		"signin": desk.SignInPage(desk.SignIn{
			BareFrame: bareFrame(), Passkey: passkey(false), Action: "/desk/signin", Problem: evil, Name: field("name"), Password: field("password"), Code: field("code"),
			Hidden: []desk.Hidden{{Name: "next", Value: evil}}, Notice: "Signed out.",
		}),
		"sweeps": desk.SweepsPage(desk.Sweeps{
			Frame: f, Tabs: []desk.Tab{{Text: "Sweeps", URL: "/desk/m/sweeps", Current: true}}, Shown: evil, Older: "/desk/m/sweeps?after=s", Command: evil,
			Rows: []desk.SweepRow{{Sum: evil, URL: "/desk/m/sweeps/s", To: evil, Rows: evil, State: desk.State{Text: "Planned", Shape: "wait"}, Time: "2026-11-27T12:00:00Z", At: "12:00", Until: evil, Fee: evil}},
		}),
		"sweeps none": desk.SweepsPage(desk.Sweeps{Frame: f, Empty: evil, Command: evil}),
		"sweep": desk.SweepPage(desk.Sweep{
			Frame: f, Back: back, Heading: evil, State: desk.State{Text: "Planned", Shape: "wait"}, Problem: evil, Notes: []desk.Result{{Shape: "ok", Text: evil}},
			Look: desk.Button{Action: "/desk/m/sweeps/s/look", Text: evil}, Send: views.Link{Text: evil, URL: "/desk/m/sweeps/s/send"}, Stop: views.Link{Text: evil, URL: "/desk/m/sweeps/s/stop"},
			To: views.AddressGroups("0xtest"), ToPage: views.Link{Text: "Open", URL: "https://explorer.example/a"}, Facts: []desk.Fact{{Name: evil, Value: evil}},
			Sent: []desk.SweepTransaction{{Tx: views.AddressGroups("0xtx"), Page: views.Link{Text: "Open", URL: "https://explorer.example/t"}, Rows: evil}}, Explorer: evil,
			Rows: []desk.SweepLine{sweepLine()}, Shown: evil, Next: "/desk/m/sweeps/s?row=101", Skipped: evil, Left: []desk.SweepLine{{From: evil, Amount: evil, Why: evil}},
		}),
		"sweep sending": desk.SweepSendingPage(desk.SweepSending{
			Frame: f, Back: back, Heading: evil, Problem: evil, Fault: evil, Action: "/desk/m/sweeps/s/send", File: field("file"), Summary: evil, Waiting: evil,
			Carriers: []desk.SweepCarrier{{Heading: evil, Text: evil, Rows: "1,2", Proof: "p", Data: "0x00", Gas: "0x1"}}, Script: "/static/sweep.js", Chain: "8453", Network: evil, Coin: evil,
			Contract: evil, Ask: "/desk/m/sweeps/s/ask", Record: "/desk/m/sweeps/s/sent", Failing: []desk.SweepLine{sweepLine()},
		}),
		"refund": desk.RefundPage(desk.Refund{
			Frame: f, Back: back, Heading: evil, Problem: evil, Request: desk.Notice{Heading: evil, Text: evil}, Decline: views.Link{Text: "Decline refund…", URL: "/desk/m/payments/i/decline"},
			Form:    desk.RefundForm{Action: "/desk/m/payments/i/refund", Version: "3", Amount: choice, Part: field("part"), Address: field("address"), Button: "Prepare refund"},
			Columns: []string{"Coins"}, Balance: []desk.AmountRow{{Name: evil, Values: []string{evil}, Sum: true}}, Earlier: []desk.RefundRow{refundRow(), {Amount: evil}}, Open: openRefunds(),
		}),
		"refund without a form": desk.RefundPage(desk.Refund{Frame: f, Back: back, Heading: evil, Note: evil}),
		"refunds": desk.RefundsPage(desk.Refunds{
			Frame: f, Tabs: []desk.Tab{{Text: "Refunds", URL: "/desk/m/refunds", Current: true}}, States: []desk.StateLink{{Text: "All", URL: "/desk/m/refunds", Current: true}},
			Rows: []desk.RefundRow{refundRow()}, Caption: evil, Shown: evil, Older: "/desk/m/refunds?after=1-a",
		}),
		"no refunds": desk.RefundsPage(desk.Refunds{Frame: f, Empty: evil}),
		"confirm": desk.StepUpPage(desk.StepUp{
			BareFrame: bareFrame(), Reason: evil, Passkey: passkey(false), HasPassword: true, Action: "/desk/m/confirm", Problem: evil,
			Password: field("confirm-password"), Code: field("confirm-code"), Hidden: []desk.Hidden{{Name: "role", Value: evil}}, Cancel: "/desk/m",
		}),
		"start": desk.StartPage(desk.Start{BareFrame: bareFrame(), Heading: "Not set up", Intro: evil, Action: "/desk/start", Problem: evil, Token: field("token"), Button: "Continue"}),
		"join": desk.NewAccountPage(desk.NewAccount{
			BareFrame: bareFrame(), Heading: "Create", Intro: evil, Problem: evil, Passkey: passkey(true), Action: "/desk/start/password",
			Hidden: []desk.Hidden{{Name: "token", Value: evil}}, Name: field("name"), Password: field("password"),
		}),
		"codes": desk.CodesPage(desk.Codes{
			BareFrame: bareFrame(), Heading: "App", Intro: evil, Problem: evil, Action: "/desk/start/code", QR: views.QR{ViewBox: "-4 -4.5 29 29", Path: "m0 0h7"}, Title: "QR code",
			Secret: views.AddressGroups("ABCDEFGH"), Recovery: []string{evil}, Code: field("code"), Button: "Finish", Hidden: []desk.Hidden{{Name: "offer", Value: evil}},
		}),
		"account": desk.AccountPage(desk.Account{
			Frame: f, Problem: evil, Keyboard: "/desk/m/account/keyboard", Methods: []desk.Method{{Name: evil, Text: evil, Subject: evil, Rename: "/desk/m/account/passkey/1/rename", Remove: button}}, Passkey: passkey(true),
			Password: views.Link{Text: "Set a password", URL: "/desk/m/account/password"}, Sessions: []desk.Session{{Browser: evil, Text: evil, Current: true}, {Browser: evil, Text: evil, End: button}},
			EndAll: "/desk/m/account/sessions/end", Notify: "/desk/m/account/notifications",
		}),
		"notifications": desk.NotificationsPage(desk.Notifications{
			Frame: f, Back: back, Problem: evil, Warning: evil, Choose: "/desk/m/account/notifications", Kinds: []desk.Checks{boxes("mail"), boxes("push")},
			SetTimes: "/desk/m/account/notifications/times", Zone: field("zone"), From: field("quiet_from"), To: field("quiet_to"), BrokenIgnoresQuiet: true,
			SetDestinations: "/desk/m/account/notifications/where", Email: field("email"), PushURL: field("push_url"), PushToken: field("push_token"), HasToken: true, Pending: evil, SendLink: button,
			Test: button, Messages: []desk.Finding{{About: evil, Text: evil, Shape: "bad"}},
		}),
		"password": desk.SetPasswordPage(desk.SetPassword{Frame: f, Back: back, Heading: "New password", Problem: evil, Action: "/desk/m/account/password", Password: field("password")}),
		"accounts": desk.AccountsPage(desk.Accounts{
			Frame: f, Tabs: []desk.Tab{{Text: "Accounts", URL: "/desk/m/accounts", Current: true}}, Problem: evil,
			Rows: []desk.AccountRow{{Name: evil, URL: "/desk/m/accounts/a", Role: "Owner", Owner: true, SignIn: evil, LastUsed: "now"}}, Roles: []string{"Owner"},
			Permissions: []desk.Permission{{Name: "Sell", Grants: []desk.Grant{{Text: "yes"}}}, {Name: "Decide", Grants: []desk.Grant{{Text: "–", Denied: true}}}},
			Invite:      desk.Invite{Action: "/desk/m/accounts/invite", Role: choice}, Invitations: []desk.Invitation{{Name: evil, Text: evil, Revoke: button}},
		}),
		"invited": desk.InvitedPage(desk.Invited{Frame: f, Heading: "Created", Intro: evil, Link: evil, Done: back}),
		"member": desk.MemberPage(desk.Member{
			Frame: f, Back: back, Problem: evil, Member: evil, Facts: []desk.Fact{{Name: "Sign-in", Value: evil}}, SetRole: "/desk/m/accounts/a/role", Role: choice,
			Remove: "/desk/m/accounts/a/remove", RemoveAsk: evil, Result: []string{evil}, RemoveDo: evil,
		}),
		"keys": desk.KeysPage(desk.Keys{
			Frame: f, Tabs: []desk.Tab{{Text: "API keys", URL: "/desk/m/keys", Current: true}}, Rows: []desk.KeyRow{keyRow(), {Name: evil, URL: "/desk/m/keys/l", Key: "l", Revoked: true}},
			Action: "/desk/m/keys", Label: field("label"), Mode: choice, Scopes: boxes("scope"), Manual: back, Plugins: []views.Link{back},
		}),
		"key": desk.KeyPage(desk.Key{
			Frame: f, Back: back, Problem: evil, Row: keyRow(), Facts: []desk.Fact{{Name: "Last used", Value: evil}}, Revoke: "/desk/m/keys/k/revoke", Ask: evil,
			Results: []desk.Result{{Shape: "warn", Text: evil}},
		}),
		"secret":        desk.SecretPage(desk.Secret{Frame: f, Heading: evil, Intro: evil, Values: []desk.SecretValue{{Name: "Key", Value: evil, Copy: desk.Copy{ID: "secret-0", Text: evil}}, {Name: "Secret", Value: evil, Copy: desk.Copy{ID: "secret-1", Text: evil}}}, Done: back}),
		"connect shops": desk.ConnectShopsPage(desk.ConnectShops{BareFrame: bareFrame(), Intro: evil, Shops: []views.Link{{Text: evil, URL: "/desk/m/connect"}}, Cancel: back}),
		"connect": desk.ConnectPage(desk.Connect{
			BareFrame: bareFrame(), Problem: evil, Intro: evil, Receive: evil, Host: evil, Address: evil, Action: "/desk/m/connect", Hidden: []desk.Hidden{{Name: "proof", Value: evil}},
			Facts: []desk.Fact{{Name: "Shop", Value: evil}}, Mode: choice, Can: []string{evil}, Cannot: []string{evil}, Another: back, Cancel: back,
		}),
		"connected": desk.ConnectedPage(desk.Connected{BareFrame: bareFrame(), Intro: evil, Action: "https://shop.example/", Hidden: []desk.Hidden{{Name: "apiKey", Value: evil}}, Button: evil}),
		"webhooks": desk.WebhooksPage(desk.Webhooks{
			Frame: f, Tabs: []desk.Tab{{Text: "Webhooks", URL: "/desk/m/webhooks", Current: true}}, Problem: evil, Rows: []desk.WebhookRow{webhookRow()},
			Action: "/desk/m/webhooks", URL: field("url"), Mode: choice, Receiver: desk.Choice{Name: "receiver", Label: evil, Hint: evil, Options: []desk.Option{{Value: evil, Text: evil, Chosen: true}}}, Events: boxes("event"),
		}),
		"webhook": desk.WebhookPage(desk.Webhook{
			Frame: f, Back: back, Problem: evil, Row: webhookRow(), Facts: []desk.Fact{{Name: "URL", Value: evil}}, Buttons: []desk.Button{button},
			Links: []views.Link{{Text: "Remove…", URL: "/desk/m/webhooks/e/remove"}}, States: []desk.StateLink{{Text: "All", URL: "/desk/m/webhooks/e", Current: true}},
			Deliveries: []desk.Delivery{delivery()}, Older: "/desk/m/webhooks/e?below=1",
		}),
		"edit": desk.WebhookEditPage(desk.WebhookEdit{Frame: f, Back: back, Problem: evil, Version: evil, Action: "/desk/m/webhooks/e/edit", URL: field("url"), Events: boxes("event")}),
		"consequences": desk.DecisionPage(desk.Decision{
			Frame: f, Back: back, Heading: evil, Results: []desk.Result{{Shape: "warn", Text: evil}}, Action: "/desk/m/webhooks/e/remove", Button: "Remove", Danger: true,
		}),
		"delivery": desk.DeliveryPage(desk.DeliveryDetail{
			Frame: f, Back: back, Delivery: delivery(), EventID: evil, Invoice: views.Link{Text: "aaaa", URL: "/desk/m/payments/i"}, Hint: evil,
			Attempts: []desk.Step{{Text: evil, Detail: evil, Shape: "bad", Time: "2026-11-29T01:00:00Z", At: "01:00"}},
		}),
		"log": desk.LogPage(desk.Log{
			Frame: f, Tabs: []desk.Tab{{Text: "Audit log", URL: "/desk/m/log", Current: true}},
			Entries: []desk.Entry{{Number: "1", Change: evil, Actor: evil, Detail: evil, At: "now", Time: "2026-11-29T01:00:00Z"}}, Older: "/desk/m/log?below=1",
		}),
		"payments": desk.PaymentsPage(desk.Payments{
			Frame: f, Tabs: []desk.Tab{{Text: "Payments", URL: "/desk/m/payments", Current: true}}, States: []desk.StateLink{{Text: "All", URL: "/desk/m/payments", Count: "1", Current: true}, {Text: "Paid", URL: "/desk/m/payments?state=paid", Shape: "ok", Count: "1"}},
			Filters: []desk.Filter{{Name: "period", Label: "Period", Options: []desk.Option{{Value: evil, Text: evil}}}, {Name: "method", Label: "Method", Options: []desk.Option{{Value: "BTC", Text: "Bitcoin", Chosen: true}}}},
			Action:  "/desk/m/payments", Kept: []desk.Hidden{{Name: "state", Value: evil}}, Problem: evil, Caption: "Payments", Shown: "1 payment", Older: "/desk/m/payments?after=1", OlderText: "Older", Clear: "/desk/m/payments",
			Rows: []desk.PaymentRow{{
				Name: evil, URL: "/desk/m/payments/i", Description: evil, Method: "EURC", Network: "Base", State: desk.State{Text: "Paid", Shape: "ok"},
				Time: "2026-11-29T01:00:00Z", At: "01:00 UTC", Amount: "€1.00",
			}},
		}),
		"no live payments": desk.PaymentsPage(desk.Payments{Frame: f, Action: "/desk/m/payments", Empty: evil, TestPayments: "/desk/m/payments?mode=test"}),
		"payments searched": desk.PaymentsPage(desk.Payments{
			Frame: f, Action: "/desk/m/payments", Caption: "Payments", Shown: evil, Older: "/desk/m/payments?after=1", OlderText: evil, Clear: "/desk/m/payments",
		}),
		"payment": desk.PaymentPage(desk.Payment{
			Frame: f, Back: back, Amount: "€1.00", State: desk.State{Text: "Late", Shape: "warn"}, Order: evil, Reference: "aaaa-bbbb", Page: "/invoice/i",
			Problem: evil, Decisions: []desk.DecisionLink{{Name: "Accept", Text: evil, URL: "/desk/m/payments/i/accept", Button: "Accept…", Default: true}},
			Message: desk.Notice{Heading: evil, Text: evil}, Columns: []string{"Coins", "Value"}, Amounts: []desk.AmountRow{{Name: "Price", Values: []string{"", "€1.00"}, Sum: true}},
			Timeline:   []desk.Step{{Text: evil, Detail: evil, Shape: "ok", Time: "2026-11-29T01:00:00Z", At: "01:00"}},
			Transfers:  []desk.Transfer{{Amount: "1 BTC", State: desk.State{Text: "Seen", Shape: "wait"}, Tx: views.AddressGroups(evil), TxName: "Transaction", Address: views.AddressGroups("bc1qabcdefgh"), To: "Address", TxPage: views.Link{Text: evil, URL: "https://explorer.example/tx/1"}, AddressPage: views.Link{Text: evil, URL: "https://explorer.example/a/1"}, Note: evil, Facts: []desk.Fact{{Name: "Block", Value: "7"}}}},
			Facts:      []desk.Fact{{Name: "Description", Value: evil}},
			Refunds:    []desk.RefundRow{refundRow()},
			Snoozed:    desk.Snoozed{Text: evil, Undo: button},
			Notes:      desk.Notes{Rows: []desk.Note{{Text: evil, Author: evil, Time: "2026-11-29T01:00:00Z", At: "01:00", Remove: "/desk/m/payments/i/notes/n/remove"}}, Removed: evil, Action: "/desk/m/payments/i/notes", Field: lines("note")},
			Deliveries: []desk.Delivery{resendable(button), {Type: evil, To: evil, State: desk.State{Text: "Delivered", Shape: "ok"}, Time: "2026-11-29T01:00:00Z", At: "01:00"}},
		}),
		"attention": desk.AttentionPage(desk.Attention{
			Frame: f, Cases: []desk.Case{{Heading: evil, URL: "/desk/m/payments/i", Shape: "warn", Text: evil, Action: views.Link{Text: evil, URL: "/desk/m/payments/i/accept"}, Snooze: views.Link{Text: evil, URL: "/desk/m/payments/i/snooze"}}},
			Newer:    "/desk/m/attention?after=1-a",
			Snoozed:  []desk.Snoozed{{Shop: evil, Heading: evil, URL: "/desk/m/payments/i", Text: evil, Undo: button}},
			Resolved: []desk.Resolved{{Shop: evil, Heading: evil, URL: "/desk/m/payments/i", Text: evil, Time: "2026-11-29T01:00:00Z", At: "01:00"}},
		}),
		"decision": desk.DecisionPage(desk.Decision{
			Frame: f, Back: back, Heading: evil, Problem: evil, Quote: evil, Results: []desk.Result{{Shape: "ok", Text: evil}}, Action: "/desk/m/payments/i/accept", Hidden: []desk.Hidden{{Name: "version", Value: evil}}, Choices: []desk.Choice{choice}, Fields: []desk.Field{field("reason")}, Button: "Accept as paid",
		}),
		"wallets": desk.WalletsPage(desk.Wallets{
			Frame:     f,
			Cards:     []desk.Wallet{{ID: "wlt_1", Name: evil, Facts: []desk.Fact{{Name: "Key", Value: evil}}, Methods: evil, Off: []string{evil}, Warning: evil, Tested: desk.Result{Shape: "bad", Text: evil}, Test: "/desk/m/wallets/wlt_1/test", Replace: back, Remove: back}},
			Available: []views.Link{{Text: evil, URL: "/desk/m/wallets/add?asset=LTC"}}, Former: []desk.FormerWallet{{Key: evil, Text: evil, Received: evil}}, Note: evil,
		}),
		"new_wallet": desk.NewWalletPage(desk.NewWallet{
			Frame: f, Back: back, Heading: evil, Problem: evil, Action: "/desk/m/wallets/add", Hidden: []desk.Hidden{{Name: "asset", Value: evil}}, Key: lines("key"), Address: field("address"),
		}),
		"health": desk.HealthPage(desk.Health{
			Frame: f, Messages: []desk.Finding{{Shape: "warn", About: evil, Text: evil}}, Networks: []desk.Finding{{Shape: "ok", About: evil, Text: evil}}, Examined: "Examined 01:00.", Summary: evil,
			Problems: []desk.Finding{{Shape: "bad", About: evil, Text: evil}}, Working: []desk.Finding{{Shape: "ok", About: evil, Text: evil}}, Action: "/desk/m/health/examine",
		}),
		"keyboard": desk.KeyboardPage(desk.Keyboard{Frame: f, Back: back, On: true, Rows: []desk.Shortcut{{Keys: []string{evil, "o"}, Effect: evil}}, Toggle: button}),
		"theme": desk.ThemePage(desk.Theme{
			Frame: f, Tabs: []desk.Tab{{Text: evil, URL: "/desk/m/theme", Current: true}}, Problem: evil, Unsaved: evil, Action: "/desk/m/theme", Hidden: []desk.Hidden{{Name: "replaces", Value: evil}},
			Name: field("name"), Logo: field("logo"), Accent: field("accent"), Line: field("line"), Support: field("support"), Terms: field("terms"), Returns: true,
			SavedLogo: "/look/1/logo.png", SavedText: evil, Removes: true, Draft: evil, Preview: desk.Preview{Frame: "/desk/m/theme/preview/0a7d5a", Fault: evil, Contrast: []string{evil}},
		}),
		"payment settings": desk.PaymentSettingsPage(desk.PaymentSettings{
			Frame: f, Tabs: []desk.Tab{{Text: evil, URL: "/desk/m/payment-settings", Current: true}}, Problem: evil, Action: "/desk/m/payment-settings", Hidden: []desk.Hidden{{Name: "version", Value: evil}},
			Methods: desk.MethodChoice{Legend: evil, Hint: evil, Error: evil, Choices: []desk.Choice{{Name: "method-BTC", Label: evil}}},
			Pages:   []desk.SettingGroup{{Heading: evil, Text: evil, Inputs: []desk.SettingInput{{Choice: desk.Choice{Name: "storefront", Label: evil}}}}},
			Below: []desk.SettingGroup{{Heading: evil, Text: evil, Notes: []string{evil}, Depths: desk.Depths{Caption: evil, Network: evil, Columns: []string{evil}, Rows: []desk.DepthRow{{Network: evil, Cells: []desk.DepthCell{{Number: evil, Time: evil}}}}}, Inputs: []desk.SettingInput{
				{Text: field("name")}, {Choice: choice}, {Fixed: desk.FixedSetting{Label: evil, Value: evil, By: evil}},
				{Checks: desk.Checks{Name: "languages", Label: evil, Hint: evil, Error: evil, Options: []desk.CheckOption{{Value: "de", Text: evil, Chosen: true}}}},
			}}},
		}),
		"sell list": desk.SellListPage(desk.SellList{
			Frame: f, Problem: evil, Removed: []desk.RemovedRow{{Name: evil, Text: evil, Restore: button}}, Tabs: []desk.Tab{{Text: "Products", URL: "/desk/m/products", Current: true}}, Shop: views.Link{Text: "Open", URL: "/shop"}, Add: views.Link{Text: "Add", URL: "/desk/m/products/new"},
			Note: evil, Caption: "Products", Columns: desk.SellColumns{Name: "Product", Detail: "Description", State: "State", Sold: "Paid", Revenue: "Revenue", Amount: "Price"}, Shown: "1 product",
			Rows: []desk.SellRow{{Name: evil, URL: "/desk/m/products/a/edit", Detail: evil, State: desk.State{Text: "On sale", Shape: "ok"}, Sold: "2", Revenue: "€2.00", Amount: "€1.00"}},
		}),
		"sell form": desk.SellFormPage(desk.SellForm{
			Hidden: []desk.Hidden{{Name: evil, Value: evil}},
			Frame:  f, Back: back, Heading: evil, State: desk.State{Text: "On sale", Shape: "ok"}, Problem: evil, Action: "/desk/m/products/a/edit", Version: evil,
			Inputs: [][]desk.Input{{{Text: field("name")}}, {{Text: desk.Field{Name: "text", Label: "Text", Value: evil, Lines: 2, Error: "Wrong"}}, {Choice: choice}}}, Button: "Save",
			Methods: desk.MethodChoice{Legend: "Methods", Hint: "Positions", Error: evil, Choices: []desk.Choice{{Name: "method-BTC", Label: "Bitcoin"}}},
			Share:   share(), Facts: []desk.Fact{{Name: "Created", Value: evil}}, Toggle: button, Build: back, Sales: back, Remove: views.Link{Text: "Remove…", URL: "/desk/m/products/a/remove"},
		}),
		"terminals": desk.TerminalsPage(desk.Terminals{
			Frame: f, Tabs: []desk.Tab{{Text: "Terminals", URL: "/desk/m/terminals", Current: true}}, Add: views.Link{Text: "Add", URL: "/desk/m/terminals/new"}, Note: evil,
			Rows: []desk.TerminalRow{{Name: evil, Text: evil, Sellers: back, Sales: back, Remove: views.Link{Text: "Remove…", URL: "/desk/m/terminals/a/remove"}}},
		}),
		"new terminal": desk.NewTerminalPage(desk.NewTerminal{Frame: f, Heading: "Added", Intro: evil, Share: share(), Done: back}),
		"own terminals": desk.OwnTerminalsPage(desk.OwnTerminals{
			Payments:  desk.Payments{Frame: f, Rows: []desk.PaymentRow{{Name: evil, URL: "/desk/m/own/payments/i", Description: evil, State: desk.State{Text: "Paid", Shape: "ok"}}}, Caption: evil, Shown: evil, Older: "/desk/m/own?after=1-a", OlderText: evil, Clear: "/desk/m/own"},
			Terminals: []desk.OwnTerminal{{Name: evil, Test: "Test", Total: evil, Open: button}},
		}),
		"no own terminals": desk.OwnTerminalsPage(desk.OwnTerminals{Payments: desk.Payments{Frame: f, Empty: evil}}),
		"own payment": desk.OwnPaymentPage(desk.OwnPayment{
			Frame: f, Back: back, Amount: "€1.00", State: desk.State{Text: "Paid", Shape: "ok"}, Order: evil, Reference: "aaaa-bbbb", Page: "/invoice/i",
			Receipt: views.Link{Text: evil, URL: "/invoice/i/receipt.pdf"}, Facts: []desk.Fact{{Name: evil, Value: evil}},
		}),
		"sellers":    desk.TerminalSellersPage(desk.TerminalSellers{Frame: f, Back: back, Heading: evil, Intro: evil, Rows: []desk.SellerRow{{Name: evil, State: desk.State{Text: "Uses it", Shape: "ok"}, Change: button}}}),
		"no sellers": desk.TerminalSellersPage(desk.TerminalSellers{Frame: f, Back: back, Heading: evil, Intro: evil, Empty: evil}),
		"storefront": desk.StorefrontPage(desk.Storefront{
			Frame: f, Tabs: []desk.Tab{{Text: "Storefront", URL: "/desk/m/storefront", Current: true}}, Pages: []desk.StorefrontLink{{Name: evil, Text: evil, Open: views.Link{Text: "Open", URL: "/shop"}}},
			Action: "/desk/m/storefront", Kept: []desk.Hidden{{Name: "mode", Value: "test"}}, Item: choice, Label: field("text"), Problem: evil, Preview: views.Link{Text: evil, URL: "/pay/a"},
			Snippets: []desk.Snippet{{Name: "Link", Text: evil, Code: evil, Copy: desk.Copy{ID: "code-link", Text: "Copy"}}}, Note: evil, Origins: []string{evil},
		}),
		"backup": desk.BackupPage(desk.Backup{
			Frame: f, Tabs: []desk.Tab{{Text: evil, URL: "/desk/m/backup", Current: true}}, Last: evil, Action: "/desk/m/backup", Passphrase: field("passphrase"), Repeated: field("repeated"),
		}),
		"all shops": desk.OverviewPage(desk.Overview{
			Frame: f, Notices: []desk.SecurityNotice{{Text: evil, Detail: evil, URL: "/desk/m/log?below=2"}}, Dismiss: button, MayDecide: true, Groups: []desk.Groups{{Heading: evil, Property: evil, Rows: []desk.GroupRow{{Name: evil, Count: evil, Share: evil, Amount: evil, Before: evil}}, Total: desk.GroupRow{Name: evil}}},
			Cases: []desk.Case{{Shop: evil, Heading: evil, URL: "/desk/m/payments/1", Text: evil, Action: views.Link{Text: evil, URL: "/desk/m/payments/1"}, Snooze: views.Link{Text: evil, URL: "/desk/m/payments/1/snooze"}}},
			Rows:  []desk.PaymentRow{{Shop: evil, Name: evil, URL: "/desk/m/payments/1", State: desk.State{Text: evil}}},
		}),
		"setup": desk.SetupPage(desk.Setup{
			Frame: f, Action: "/desk/m/setup", Seen: evil, Name: field("name"), Skip: "/desk/m/account",
			Currency: desk.Choice{Name: "currency", Label: "Currency", Hint: evil, Error: evil, Options: []desk.Option{{Value: "EUR", Text: "EUR", Chosen: true}, {Value: evil, Text: evil}}},
			Zone:     desk.Choice{Name: "time_zone", Label: "Zone", Browser: true, Options: []desk.Option{{Value: "UTC", Text: "UTC"}, {Value: evil, Text: evil, Group: evil}}},
		}),
		"shop": desk.ShopPage(desk.ShopSettings{
			Frame: f, Tabs: []desk.Tab{{Text: evil, URL: "/desk/m/shop", Current: true}}, Problem: evil, Facts: []desk.Fact{{Name: evil, Value: evil}}, Open: views.Link{Text: evil, URL: "/s/m"},
			Rename: "/desk/m/shop", Seen: evil, Name: field("name"), Create: "/desk/m/shops", New: field("new"),
		}),
		"shop with a fixed name": desk.ShopPage(desk.ShopSettings{Frame: f, Open: views.Link{Text: evil, URL: "/s/m"}, Fixed: evil, Create: "/desk/m/shops", New: field("new")}),
		"backup refused":         desk.BackupPage(desk.Backup{Frame: f, Last: evil, Refused: evil}),
		"refused":                desk.RefusalPage(desk.Refusal{Frame: f, Heading: "Not allowed", Intro: evil, Back: back}),
		"fault":                  desk.FaultPage(desk.Fault{BareFrame: bareFrame(), Heading: "Not found", Intro: evil, Action: back}),
	}
}

func rendered(t *testing.T, page templ.Component) *goquery.Document {
	t.Helper()
	var b bytes.Buffer
	if err := page.Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	doc, err := goquery.NewDocumentFromReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// Every page has one heading, a main part and a link to it. No page has inline scripts or styles, dead links or disabled
// controls.
func TestPages_are_accessible_and_have_no_inline_code(t *testing.T) {
	t.Parallel()
	for name, page := range pages() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := rendered(t, page)
			for _, tt := range []struct {
				what, selector string
				want           int
			}{
				{"h1", "h1", 1},
				{"main part", "main#main", 1},
				{"link to the main part", `a.skip[href="#main"]`, 1},
				{"inline style", "style, [style]", 0},
				{"inline script", "script:not([src])", 0},
				{"handler", "[onclick], [onsubmit], [onload]", 0},
				{"page works before its script", "html.nojs", 1},
				{"dead link", `a[href="#"], a[href=""], a:not([href])`, 0},
				{"form for another method", `form:not([method=post]):not([method=""]):not(.find):not(.filter):not(.build)`, 0},
				{"disabled control", "[disabled]", 0},
			} {
				if got := doc.Find(tt.selector).Length(); got != tt.want {
					t.Errorf("%s: %d, want %d", tt.what, got, tt.want)
				}
			}
			checkNames(t, doc)
			checkForms(t, doc)
		})
	}
}

// checkNames checks that ids are unique, that references lead to an element, and that every control has
// a name.
func checkNames(t *testing.T, doc *goquery.Document) {
	t.Helper()
	ids := map[string]bool{}
	for _, id := range doc.Find("[id]").Map(func(_ int, s *goquery.Selection) string { return s.AttrOr("id", "") }) {
		if ids[id] {
			t.Errorf("two elements have the id %q", id)
		}
		ids[id] = true
	}
	doc.Find("[aria-labelledby], [aria-describedby], label[for]").Each(func(_ int, s *goquery.Selection) {
		for _, id := range strings.Fields(s.AttrOr("aria-labelledby", "") + " " + s.AttrOr("aria-describedby", "") + " " + s.AttrOr("for", "")) {
			if !ids[id] {
				t.Errorf("an element refers to the id %q, which does not exist", id)
			}
		}
	})
	doc.Find("input:not([type=hidden]), select").Each(func(_ int, s *goquery.Selection) {
		id := s.AttrOr("id", "")
		if s.AttrOr("aria-label", "") == "" && s.Closest("label").Length() == 0 && (id == "" || doc.Find(`label[for="`+id+`"]`).Length() == 0) {
			t.Errorf("the field %q has no label", s.AttrOr("name", ""))
		}
	})
}

// checkForms checks that every form that changes something sends the form token. The forms of a link
// are sent before there is a session; their origin is checked. A form for another site must not send the form token.
func checkForms(t *testing.T, doc *goquery.Document) {
	t.Helper()
	doc.Find("form[method=post]").Each(func(_ int, s *goquery.Selection) {
		action := s.AttrOr("action", "")
		if strings.HasPrefix(action, "https://") {
			if s.Find("input[name=form]").Length() != 0 {
				t.Errorf("the form for %s has a form token", action)
			}
			return
		}
		if s.Find(`input[name=form][value="form-token"]`).Length() != 1 && !slices.Contains([]string{"/desk/start", "/desk/start/password"}, action) {
			t.Errorf("the form for %s lacks the form token", action)
		}
	})
}

// Texts of shops, shoppers and colleagues are shown as text: a page does not run a script in them.
func TestPages_escape(t *testing.T) {
	t.Parallel()
	for name, page := range pages() {
		var b bytes.Buffer
		if err := page.Render(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "<script>alert") {
			t.Errorf("%s contains the text as an element", name)
		}
	}
}

func TestFrame_has_places_search_mode_and_shops(t *testing.T) {
	t.Parallel()
	doc := rendered(t, desk.RefusalPage(desk.Refusal{Frame: frame(), Heading: "Heading"}))
	for _, tt := range []struct {
		what, selector string
		want           int
	}{
		{"places at the side and at the bottom", `.rail .places a[href="/desk/m/payments"][aria-current=page], .bar a[href="/desk/m/payments"][aria-current=page]`, 2},
		{"search with the searched text", `form[role=search] input[name=q]`, 1},
		{"search keeps the mode", `form[role=search] input[name=mode][value=test]`, 1},
		{"current mode", `.seg a[aria-current=true][href="/desk/m/payments?mode=test"]`, 1},
		{"banner of test mode", `.note.warn`, 1},
		{"menu of shops at the side and above", `details.shop a[href="/desk/n"]`, 2},
		{"button that signs out, at the side and at the bottom", `form[action="/desk/signout"] button`, 2},
		{"result of the last action", `[role=status]`, 1},
	} {
		if got := doc.Find(tt.selector).Length(); got != tt.want {
			t.Errorf("%s: %d of %q, want %d", tt.what, got, tt.selector, tt.want)
		}
	}
	single := frame()
	single.Shops, single.TestURL, single.Test, single.Search, single.Notice = single.Shops[:1], "", false, "", ""
	if n := rendered(t, desk.RefusalPage(desk.Refusal{Frame: single})).Find("details.shop, .seg, .note, form.find").Length(); n != 0 {
		t.Errorf("%d parts for a second shop, a mode, a banner or a search, want none", n)
	}
}

// The form for a passkey is hidden until the script shows it, and has the addresses that the script
// needs.
func TestPasskey_form_is_hidden_until_the_script_runs(t *testing.T) {
	t.Parallel()
	doc := rendered(t, pages()["join"])
	if n := doc.Find(`form[hidden][data-passkey="/desk/options"][data-ceremony=create] input[name=offer]`).Length(); n != 1 {
		t.Errorf("%d forms that create a passkey, want 1", n)
	}
	doc = rendered(t, pages()["signin"])
	if n := doc.Find(`form[hidden][data-ceremony=get] input[name=credential]`).Length(); n != 1 {
		t.Errorf("%d forms that use a passkey, want 1", n)
	}
}
