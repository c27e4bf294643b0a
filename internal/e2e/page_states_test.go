package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"chequer/internal/api"
	"chequer/internal/app"
	"chequer/internal/config"
)

// pageState is a page in one state. TestPageStates checks each.
type pageState struct {
	name   string
	budget budget
	reach  func(*tab, *demoSite)
	status int // status of the page; 0 means 200. The console logs other statuses.
}

// pageStates lists every page in every state. A new page needs a row here.
var pageStates = []pageState{
	{"storefront", ofForm, at("/"), 0},
	{"storefront_refused", ofForm, inOrder(at("/"), enter("#amount", "many"), press("form button.btn", "#amount-error")), http.StatusUnprocessableEntity},
	{"no_storefront", ofForm, onStubService("/", nil), 0},
	{"link", ofLink, onSignedLink("1042", "Two prints, A4, on the heavy paper"), 0},
	{"link_open", ofLink, at("/pay/tip-jar"), 0},
	{"link_open_refused", ofLink, inOrder(at("/pay/tip-jar"), press("form button.btn", "#amount-error")), http.StatusUnprocessableEntity},
	{"link_changed", ofForm, at("/pay?amount=1&fiat_currency=EUR&sig=0"), http.StatusBadRequest},
	{"link_paid_too_little", ofLink, paidTooLittle, 0},
	{"products", ofList, at("/shop"), 0},
	{"product", ofForm, at("/shop/coffee"), 0},
	{"product_refused", ofForm, inOrder(at("/shop/coffee"), enter("#quantity", "0"), press(".side button", "#quantity-error")), http.StatusUnprocessableEntity},
	{"terminal", ofTerminal, atTerminal, 0},
	{"terminal_refused", ofTerminal, inOrder(atTerminal, press("form .btn", "#amount-error")), http.StatusUnprocessableEntity},
	{"terminal_invoice", ofCounter, inOrder(atTerminal, enter("#amount", "12.50"), press("form .btn", ".next a")), 0},
	{"embed", ofBuilder, at("/embed"), 0},
	{"embed_built", ofBuilder, at("/embed?link=tip-jar"), 0},
	{"embed_built_listing_none", ofBuilder, onStubService("/embed?link=tip-jar", nil), 0},
	{"embed_refused", ofBuilder, at("/embed?link=http://elsewhere.example/"), http.StatusUnprocessableEntity},
	{"docs", ofDocs, at("/docs"), 0},
	{"docs_api", ofReference, at("/docs/api"), 0},
	{"manual", ofDocs, at("/docs/links-and-products"), 0},
	{"manual_settings", ofDocs, at("/docs/configuration"), 0},
	{"manual_group", ofDocs, at("/docs/woocommerce"), 0},
	{"manual_search", ofDocs, at("/docs/search?q=wallet"), 0},
	{"manual_search_empty", ofDocs, at("/docs/search?q=xyzzy"), 0},
	{"manual_not_found", ofForm, at("/docs/nothing"), http.StatusNotFound},
	{"not_found", ofForm, at("/nothing"), http.StatusNotFound},
	{"invoice_not_found", ofForm, at("/invoice/nothing"), http.StatusNotFound},

	{"languages", ofLink, at("/?lang="), 0},
	{"storefront_arabic", ofForm, at("/?lang=ar"), 0},
	{"link_german", ofLink, at("/pay/tip-jar?lang=de"), 0},

	{"waiting", ofPayment, atInvoice(nil), 0},
	{"waiting_arabic", ofPayment, inOrder(atInvoice(forOrder), withQuery("?lang=ar")), 0},
	{"waiting_greek", ofPayment, inOrder(atInvoice(only("BTC")), withQuery("?lang=el")), 0},
	{"partial_german", ofPayment, inOrder(atInvoice(forOrder, api.SimulateUnder), withQuery("?lang=de")), 0},
	{"overpaid_hungarian", ofPayment, inOrder(atInvoice(forOrder, api.SimulateOver, api.SimulateConfirm), withQuery("?lang=hu")), 0},
	{"late_arabic", ofPayment, inOrder(atInvoice(forOrder, api.SimulateLate), withQuery("?lang=ar")), 0},
	{"waiting_one_method", ofPayment, atInvoice(only("BTC")), 0},
	{"waiting_two_methods", ofPayment, atInvoice(only("BTC", "EURC-BASE")), 0},
	{"waiting_lightning", ofPayment, openedAt("BTC-LN", atInvoice(only("BTC", "BTC-LN"))), 0},
	{"waiting_lightning_only", ofPayment, atInvoice(only("BTC-LN")), 0},
	{"waiting_lightning_arabic", ofPayment, inOrder(atInvoice(only("BTC", "BTC-LN")), withQuery("?m=BTC-LN&lang=ar")), 0},
	{"paid_by_lightning", ofPayment, atInvoice(only("BTC-LN"), api.SimulateExact), 0},
	{"waiting_token", ofPayment, openedAt("EURC-BASE", atInvoice(nil)), 0},
	{"waiting_token_with_bridged_versions", ofPayment, onStubService("/invoice/kAp39QfWkAp39QfWkAp39QfWkAp39QfW?m=EURC-BASE&lang=fr", withBridged), 0},
	{"waiting_wallet", ofPayment, withWallet(openedAt("EURC-BASE", atInvoice(nil))), 0},
	{"waiting_help", ofPayment, inOrder(atInvoice(nil), press("#help summary", "#requote")), 0},
	{"waiting_second_code", ofPayment, inOrder(atInvoice(only("EURC-BASE")), withQuery("?m=EURC-BASE&amount=1")), 0},
	{"waiting_long", ofPayment, atInvoice(longTexts), 0},
	{"waiting_by_hand", ofPayment, onStubService("", unwatched), 0},
	{"ended", ofPayment, onStubService("", func(r *api.Resource) { r.SecondsLeft = -5 }), 0},
	{"delayed", ofPayment, onStubService("", func(r *api.Resource) { r.SecondsLeft, r.Exceptions = -5, []string{api.ExceptionDelayed} }), 0},
	{"wrong_asset", ofPayment, onStubService("", wrongAsset), 0},
	{"older_money", ofPayment, onStubService("", olderMoney), 0},
	{"dropped", ofPayment, atInvoice(nil, api.SimulateExact, api.SimulateReplace), 0},
	{"seen", ofPayment, atInvoice(forOrder, api.SimulateExact), 0},
	{"contested", ofPayment, onStubService("", contested), 0},
	{"taken_back", ofPayment, atInvoice(nil, api.SimulateExact, api.SimulateConfirm, api.SimulateReorganise), 0},
	{"partial", ofPayment, atInvoice(forOrder, api.SimulateUnder), 0},
	{"partial_requoted", ofPayment, inOrder(atInvoice(nil, api.SimulateUnder), press("#help summary", "#requote"), clickThrough("#requote")), 0},
	{"paid", ofPayment, atInvoice(forOrder, api.SimulateExact, api.SimulateConfirm), 0},
	{"paid_in_parts", ofPayment, atInvoice(nil, api.SimulateUnder, api.SimulateExact, api.SimulateConfirm), 0},
	{"seen_while_open", checkedByReach, updatedByStream("Payment seen", api.SimulateExact), 0},
	{"partial_while_open", checkedByReach, updatedByStream("Part of it arrived", api.SimulateUnder), 0},
	{"overpaid_while_open", checkedByReach, updatedByStream("You sent a little extra", api.SimulateOver, api.SimulateConfirm), 0},
	{"paid_going_back", checkedByReach, goingBack, 0},
	{"overpaid", ofPayment, atInvoice(forOrder, api.SimulateOver, api.SimulateConfirm), 0},
	{"refund_refused", ofPayment, inOrder(atInvoice(nil, api.SimulateOver, api.SimulateConfirm), refundTo("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "#refund-error")), http.StatusUnprocessableEntity},
	{"refund_saved", ofPayment, inOrder(atInvoice(nil, api.SimulateOver, api.SimulateConfirm), refundTo("tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx", "#refund .addr")), 0},
	{"refund_lightning", ofPayment, inOrder(atInvoice(only("BTC-LN"), api.SimulateOver), scrollTo("#refund")), 0},
	{"refund_lightning_refused", ofPayment, inOrder(atInvoice(only("BTC-LN"), api.SimulateOver), refundTo("anna@localhost", "#refund-error")), http.StatusUnprocessableEntity},
	{"refund_lightning_address", ofPayment, inOrder(atInvoice(only("BTC-LN"), api.SimulateOver), refundTo("anna@example.com", "#refund .addr")), 0},
	{"refund_lightning_saved", ofPayment, inOrder(atInvoice(only("BTC-LN"), api.SimulateOver), refundToRequest, scrollTo("#refund")), 0},
	{"refund_sent", ofPayment, onStubService("", withRefund("sent")), 0},
	{"refund_declined", ofPayment, onStubService("/invoice/kAp39QfWkAp39QfWkAp39QfWkAp39QfW?lang=ar", withRefund("declined")), 0},
	{"surplus_kept", ofPayment, onStubService("/invoice/kAp39QfWkAp39QfWkAp39QfWkAp39QfW?lang=de", surplusKept), 0},
	{"expired", ofPayment, atInvoice(forOrder, api.SimulateLate, api.SimulateReplace), 0},
	{"expired_with_requote", ofPayment, atInvoice(lateAllowed, api.SimulateLate, api.SimulateReplace), 0},
	{"expired_requote_refused", ofPayment, inOrder(atInvoice(lateAllowed, api.SimulateLate, api.SimulateReplace), withQuery("?requote_refused=no_rate")), 0},
	{"expired_short", ofPayment, atInvoice(forOrder, api.SimulateUnder, api.SimulateConfirm, api.SimulateLate, api.SimulateReplace), 0},
	{"late", ofPayment, atInvoice(forOrder, api.SimulateLate), 0},
	{"declined", ofPayment, declinedAfter(), 0},
	{"declined_short", ofPayment, declinedAfter(api.SimulateUnder), 0},
	{"desk_link", ofDesk, atDesk("/desk/start"), 0},
	{"desk_link_refused", ofDesk, inOrder(atDesk("/desk/start"), enter("#token", "nothing"), press("#paste button", ".note.bad")), http.StatusUnprocessableEntity},
	{"desk_join", ofDesk, invited, 0},
	{"desk_join_refused", ofDesk, inOrder(invited, enter("#name", "Runa"), enter("#password", "short"), press("button[form=join]", "#password-error")), http.StatusUnprocessableEntity},
	{"desk_codes", ofDesk, inOrder(invited, enter("#name", "Runa"), enter("#password", deskPassword), press("button[form=join]", ".qr")), 0},
	{"desk_signin", ofDesk, atDesk("/desk/signin"), 0},
	{"desk_signin_refused", ofDesk, inOrder(atDesk("/desk/signin"), enter("#name", "Nora"), press(`form[action="/desk/signin"] button`, ".note.bad")), http.StatusUnprocessableEntity},
	{"desk_not_found", ofDesk, signedIn("/nothing"), http.StatusNotFound},
	{"desk_account", ofDesk, signedIn("/account"), 0},
	{"desk_account_passkeys", ofDesk, withPasskey, 0},
	{"desk_passkey_name", ofDesk, inOrder(withPasskey, press(`#methods a[href$="/rename"]`, "#name")), 0},
	{"desk_passkey_name_refused", ofDesk, inOrder(withPasskey, press(`#methods a[href$="/rename"]`, "#name"), enter("#name", strings.Repeat("x", 41)), press("#decide .go", "#name-error")), http.StatusUnprocessableEntity},
	{"desk_keyboard", ofDesk, signedIn("/account/keyboard"), 0},
	{"desk_keyboard_disabled", ofDesk, inOrder(signedInNew, clickThrough("main form button")), 0},
	{"desk_notifications", ofDesk, signedIn("/account/notifications"), 0},
	{"desk_notifications_seller", ofDesk, atSellersNotifications, 0},
	{"desk_notifications_refused", ofDesk, inOrder(signedIn("/account/notifications"), enter("#zone", "Atlantis"), press("#when .go", "#zone-error")), http.StatusUnprocessableEntity},
	{"desk_notifications_unconfirmed", ofDesk, withUnconfirmedAddress, 0},
	{"desk_notifications_link_refused", ofDesk, signedIn("/account/notifications/email?token=x"), http.StatusUnprocessableEntity},
	{"desk_notifications_failed", ofDesk, withFailedMessage, http.StatusTooManyRequests},
	{"desk_password", ofDesk, signedIn("/account/password"), 0},
	{"desk_accounts", ofDesk, signedIn("/accounts"), 0},
	{"desk_permissions", ofDesk, inOrder(signedIn("/accounts"), press("details.more summary", ".roles"), scrollToTop), 0},
	{"desk_invited", ofDesk, inOrder(signedIn("/accounts"), press("#invite button", "#link")), 0},
	{"desk_member", ofDesk, ownMember, 0},
	{"desk_last_owner", ofDesk, inOrder(ownMember, press(`form[action$="/remove"] button`, ".note.bad")), http.StatusUnprocessableEntity},
	{"desk_confirm", ofDesk, signedIn("/confirm"), 0},
	{"desk_key_refused", ofDesk, inOrder(signedIn("/keys"), enter("#label", strings.Repeat("plug-in", 10)), press("#create button", "#label-error")), http.StatusUnprocessableEntity},
	{"desk_key_created", ofDesk, inOrder(signedIn("/keys"), enter("#label", "Web shop"), press("#create button", "#secret-1")), 0},
	{"desk_keys", ofDesk, signedIn("/keys"), 0},
	{"desk_keys_plugins", ofDesk, inOrder(withPluginKeys, signedIn("/keys")), 0},
	{"desk_connect", ofDesk, askingToConnect("https://web-shop.example/wp-admin/?wc-api=btcpaygf_default&key=1"), 0},
	{"desk_connect_shown", ofDesk, askingToConnect(""), 0},
	{"desk_connect_shops", ofDesk, inOrder(atAllShops(""), choosingShop), 0},
	{"desk_connect_refused", ofDesk, askingToConnect("http://web-shop.example/"), http.StatusBadRequest},
	{"desk_connected", checkedByReach, connected, 0},
	{"desk_key", ofDesk, inOrder(signedIn("/keys"), press(".rows a", "#revoke")), 0},
	{"desk_webhooks", ofDesk, inOrder(withWebhook, signedIn("/webhooks")), 0},
	{"desk_webhook_refused", ofDesk, inOrder(signedIn("/webhooks"), enter("#url", "ftp://shop.example/hook"), press("#create button", "#url-error")), http.StatusUnprocessableEntity},
	{"desk_webhook_created", ofDesk, inOrder(signedIn("/webhooks"), enter("#url", "https://shop.example/hook"), press("#create button", "#secret-1")), 0},
	{"desk_webhook_none", ofDesk, inOrder(withWebhook, atWebhook("?state=failed")), 0},
	{"desk_webhook", ofDesk, inOrder(withWebhook, atInvoice(longTexts), atWebhook("")), 0},
	{"desk_webhook_retried", ofDesk, inOrder(withWebhook, atInvoice(longTexts), atWebhook("?count=12&done=retried")), 0},
	{"desk_webhook_edit", ofDesk, inOrder(withWebhook, atWebhook("/edit")), 0},
	{"desk_webhook_rotate", ofDesk, inOrder(withWebhook, atWebhook("/rotate")), 0},
	{"desk_webhook_remove", ofDesk, inOrder(withWebhook, atWebhook("/remove")), 0},
	{"desk_webhook_conflict", ofDesk, inOrder(withWebhook, atWebhook("/finish")), http.StatusConflict},
	{"desk_delivery", ofDesk, inOrder(withWebhook, atWebhook(""), press(`form[action$="/test"] button`, "#resend")), 0},
	{"desk_log", ofDesk, signedIn("/log"), 0},
	{"desk_wallets", ofDesk, withWallets, 0},
	{"desk_wallets_none", ofDesk, atOwnDesk("/wallets"), 0},
	{"desk_wallets_demo", ofDesk, signedIn("/wallets"), 0},
	{"desk_wallet_add", ofDesk, atOwnDesk("/wallets/add?asset=ETH"), 0},
	{"desk_wallet_private", ofDesk, addingWallet("abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about", bitcoinAddress, "#key-error"), http.StatusUnprocessableEntity},
	{"desk_wallet_other_address", ofDesk, addingWallet(bitcoinKey, nestedAddress, "#address-error"), http.StatusUnprocessableEntity},
	{"desk_wallet_ask", ofDesk, addingWallet(bitcoinKey, bitcoinAddress, "#decide"), 0},
	{"desk_connection", ofDesk, atOwnDesk("/wallets/lightning"), 0},
	{"desk_connection_refused", ofDesk, inOrder(atOwnDesk("/wallets/lightning"), enter("#connection", "nostr+walletconnect://me"), press("#decide .go", "#connection-error")), http.StatusUnprocessableEntity},
	{"desk_connection_tested", ofDesk, inOrder(connectedNode, press(".cards form button", ".card .note.ok")), 0},
	{"desk_connection_replace", ofDesk, inOrder(connectedNode, press(".cards a.b:not(.no)", "#decide")), 0},
	{"desk_monero", ofDesk, atOwnDesk("/wallets/monero"), 0},
	{"desk_monero_address_refused", ofDesk, inOrder(atOwnDesk("/wallets/monero"), enter("#address", moneroAddress[1:]), enter("#view_key", moneroView), press("#decide .go", "#address-error")), http.StatusUnprocessableEntity},
	{"desk_monero_key_refused", ofDesk, inOrder(atOwnDesk("/wallets/monero"), enter("#address", moneroAddress), enter("#view_key", strings.Repeat("velvet ", 25)), press("#decide .go", "#view_key-error")), http.StatusUnprocessableEntity},
	{"desk_monero_wallet", ofDesk, withMonero, 0},
	{"desk_monero_replace", ofDesk, inOrder(withMonero, press(".cards a.b:not(.no)", "#decide")), 0},
	{"desk_monero_remove", ofDesk, inOrder(withMonero, press(".cards a.no", "#decide")), 0},
	{"desk_sweeps", ofDesk, atSweep("list"), 0},
	{"desk_sweeps_none", ofDesk, atOwnDesk("/sweeps"), 0},
	{"desk_sweep", ofDesk, atSweep(""), 0},
	{"desk_sweep_unread", ofDesk, inOrder(atSweep(""), press(`form[action$="/look"] button`, ".note.bad")), http.StatusServiceUnavailable},
	{"desk_sweep_stop", ofDesk, atSweep("/stop"), 0},
	{"desk_sweep_stopped", ofDesk, inOrder(atSweep("/stop"), clickThrough("#decide button")), 0},
	{"desk_sweep_send", ofDesk, atSweep("/send"), 0},
	{"desk_sweep_refused", ofDesk, sweepRefused, http.StatusUnprocessableEntity},
	{"desk_sweep_offered", ofDesk, sweepOffered, 0},
	{"desk_health", ofDesk, atOwnDesk("/health"), 0},
	{"desk_health_examined", ofDesk, inOrder(atOwnDesk("/health"), press("main form button", ".list .bad")), 0},
	{"desk_health_demo", ofDesk, inOrder(signedIn("/health"), press("main form button", ".note.ok")), 0},
	{"desk_theme", ofDesk, signedIn("/theme"), 0},
	{"desk_theme_preview", ofDesk, inOrder(signedIn("/theme"), enter("#name", "Nord & Sons"), enter("#accent", "#0a7d5a"), enter("#line", "Prints from the far north"), clickThrough(`button[value="preview"]`)), 0},
	{"desk_theme_refused", ofDesk, inOrder(signedIn("/theme"), enter("#accent", "greenish"), press(`button[value="save"]`, "#accent-error")), http.StatusUnprocessableEntity},
	{"desk_payment_settings", ofDesk, signedIn("/payment-settings"), 0},
	{"desk_payment_settings_refused", ofDesk, inOrder(signedIn("/payment-settings"), enter("#quote_minutes", "90"), press("main form .end button", "#quote_minutes-error")), http.StatusUnprocessableEntity},
	{"desk_payment_settings_explorer", ofDesk, inOrder(signedIn("/payment-settings"), enter("#explorers", "bitcoin=http://explorer.example/"), press("main form .end button", "#explorers-error")), http.StatusUnprocessableEntity},
	{"desk_payment_settings_zero", ofDesk, inOrder(signedIn("/payment-settings"), enter("#zero_confirmation_btc", "900"), press("main form .end button", "#zero_confirmation_btc-error")), http.StatusUnprocessableEntity},
	{"desk_payment_settings_stale", ofDesk, settingsChangedMeanwhile, http.StatusConflict},
	{"desk_backup", ofDesk, atOwnDesk("/backup"), 0},
	{"desk_all", ofDesk, atAllShops(""), 0},
	{"desk_all_attention", ofDesk, atAllShops("/attention"), 0},
	{"desk_all_reports", ofDesk, atAllShops("/reports"), 0},
	{"desk_all_reports_refused", ofDesk, atAllShops("/reports?period=never"), http.StatusUnprocessableEntity},
	{"desk_setup", ofDesk, signedIn("/setup"), 0},
	{"desk_setup_refused", ofDesk, inOrder(signedIn("/setup"), enter("#name", " "), press("main form .go", "#name-error")), http.StatusUnprocessableEntity},
	{"desk_shop", ofDesk, signedIn("/shop"), 0},
	{"desk_shop_refused", ofDesk, inOrder(signedIn("/shop"), enter("#new", " "), press("#new-shop form button", "#new-error")), http.StatusUnprocessableEntity},
	{"desk_backup_shops", ofDesk, inOrder(atAllShops(""), signedIn("/backup")), 0},
	{"desk_backup_refused", ofDesk, inOrder(atOwnDesk("/backup"), enter("#passphrase", "short"), enter("#repeated", "short"), press("main form button", "#passphrase-error")), http.StatusUnprocessableEntity},
	{"desk_refused", ofDesk, refusedAtDesk, http.StatusForbidden},
	{"desk_overview", ofDesk, inOrder(atInvoice(forOrder, api.SimulateExact, api.SimulateConfirm), atInvoice(longTexts, api.SimulateLate), signedIn("?mode=test")), 0},
	{"desk_overview_table", ofDesk, inOrder(atInvoice(nil, api.SimulateOver, api.SimulateConfirm), signedIn("?mode=test&period=month"), press(".chart summary", ".chart table")), 0},
	{"desk_overview_notices", ofDesk, withNotices, 0},
	{"desk_overview_new_shop", ofDesk, signedIn(""), 0},
	{"desk_reports", ofDesk, inOrder(atInvoice(forOrder, api.SimulateExact, api.SimulateConfirm), atInvoice(nil, api.SimulateOver, api.SimulateConfirm), signedIn("/reports?mode=test")), 0},
	{"desk_reports_by_origin", ofDesk, inOrder(atInvoice(nil, api.SimulateExact, api.SimulateConfirm), signedIn("/reports?mode=test&period=days&by=origin")), 0},
	{"desk_reports_none", ofDesk, signedIn("/reports"), 0},
	{"desk_reports_refused", ofDesk, signedIn("/reports?period=days&from=2026-11-29&to=yesterday"), http.StatusUnprocessableEntity},
	{"desk_payments", ofDesk, inOrder(atInvoice(forOrder), atInvoice(longTexts), signedIn("/payments?mode=test")), 0},
	{"desk_payments_live", ofDesk, signedIn("/payments"), 0},
	{"desk_payments_refused", ofDesk, signedIn("/payments?period=yesterday"), http.StatusUnprocessableEntity},
	{"desk_menu", ofDesk, inOrder(signedIn("/payments"), press(".bar details summary", ".bar .drop")), 0},
	{"desk_payment_waiting", ofDesk, atPayment(forOrder), 0},
	{"desk_payment_long", ofDesk, atPayment(longTexts), 0},
	{"desk_payment_note", ofDesk, withNote, 0},
	{"desk_payment_note_refused", ofDesk, inOrder(atPayment(nil), enter("#note", strings.Repeat("long ", 500)), press("#notes button", "#note-error")), http.StatusUnprocessableEntity},
	{"desk_payment_note_remove", ofDesk, inOrder(withNote, press("#notes li a", "#decide")), 0},
	{"desk_payment_short", ofDesk, atPayment(forOrder, api.SimulateUnder), 0},
	{"desk_payment_overpaid", ofDesk, atPayment(forOrder, api.SimulateOver, api.SimulateConfirm), 0},
	{"desk_payment_late", ofDesk, atPayment(forOrder, api.SimulateLate), 0},
	{"desk_attention", ofDesk, inOrder(atInvoice(forOrder, api.SimulateLate), atInvoice(longTexts, api.SimulateLate), signedIn("/attention?mode=test")), 0},
	{"desk_attention_snoozed", ofDesk, inOrder(snoozed, atInvoice(longTexts, api.SimulateLate), atInvoice(forOrder, api.SimulateLate), acceptedAtDesk, signedIn("/attention?mode=test")), 0},
	{"desk_snooze", ofDesk, deciding("snooze", forOrder, api.SimulateLate), 0},
	{"desk_payment_snoozed", ofDesk, inOrder(snoozed, press("#snoozed h3 a", ".asleep")), 0},
	{"desk_attention_none", ofDesk, signedIn("/attention"), 0},
	{"desk_accept", ofDesk, deciding("accept", forOrder, api.SimulateLate), 0},
	{"desk_accept_short", ofDesk, deciding("accept", longTexts, api.SimulateUnder), 0},
	{"desk_cancel", ofDesk, deciding("cancel", longTexts, api.SimulateUnder), 0},
	{"desk_requote", ofDesk, deciding("requote", forOrder, api.SimulateUnder), 0},
	{"desk_decision_refused", ofDesk, deciding("accept", forOrder), http.StatusConflict},
	{"desk_refund", ofDesk, deciding("refund", forOrder, api.SimulateOver, api.SimulateConfirm), 0},
	{"desk_refund_nothing", ofDesk, deciding("refund", forOrder), 0},
	{"desk_refund_requested", ofDesk, refundAsked, 0},
	{"desk_refund_refused", ofDesk, inOrder(deciding("refund", forOrder, api.SimulateOver, api.SimulateConfirm), enter("#address", "nonsense"), press("#prepare button", "#address-error")), http.StatusUnprocessableEntity},
	{"desk_refund_waits", ofDesk, inOrder(deciding("refund", forOrder, api.SimulateOver, api.SimulateConfirm), press("#prepare button", `form[action$="/cancel"]`)), 0},
	{"desk_refund_ready", ofDesk, refundReady, 0},
	{"desk_refund_lightning", ofDesk, inOrder(lightningRefund, press("#prepare button", ".qr")), 0},
	{"desk_refund_lightning_hash", ofDesk, inOrder(lightningRefund, press("#prepare button", ".qr"), press(`form[action$="/sent"] button`, `[id^="tx-"][id$="-error"]`)), http.StatusUnprocessableEntity},
	{"desk_payment_lightning", ofDesk, inOrder(lightningRefund, press(".crumb", ".ask")), 0},
	{"desk_refund_payment", ofDesk, inOrder(refundReady, press(".crumb", ".ask")), 0},
	{"desk_refund_seen", ofDesk, inOrder(refundReady, payRefund(false)), 0},
	{"desk_refund_double", ofDesk, inOrder(refundReady, payRefund(true), payRefund(true)), 0},
	{"desk_attention_refund", ofDesk, inOrder(refundReady, payRefund(true), payRefund(true), signedIn("/attention?mode=test")), 0},
	{"desk_refund_checked", ofDesk, inOrder(refundReady, payRefund(true), payRefund(true), press(`form[action$="/checked"] button`, "main")), 0},
	{"desk_refund_payment_confirmed", ofDesk, inOrder(refundReady, payRefund(true), press(".crumb", "main")), 0},
	{"desk_refunds_double", ofDesk, inOrder(refundReady, payRefund(true), payRefund(true), signedIn("/refunds?mode=test")), 0},
	{"refund_confirmed", ofPayment, inOrder(refundReady, payRefund(true), atPage), 0},
	{"desk_refunds", ofDesk, inOrder(refundReady, signedIn("/refunds?mode=test")), 0},
	{"desk_refunds_none", ofDesk, signedIn("/refunds"), 0},
	{"desk_keep", ofDesk, deciding("keep", forOrder, api.SimulateOver, api.SimulateConfirm), 0},
	{"desk_decline", ofDesk, inOrder(refundAsked, clickThrough(`.ask a[href$="/decline"]`)), 0},
	{"desk_payment_deliveries", ofDesk, inOrder(withWebhook, atPayment(longTexts)), 0},
	{"desk_payment_reverted", ofDesk, atPayment(nil, api.SimulateExact, api.SimulateConfirm, api.SimulateReorganise), 0},
	{"desk_products", ofDesk, signedIn("/products?mode=test"), 0},
	{"desk_products_none", ofDesk, signedIn("/products"), 0},
	{"desk_product_new", ofDesk, signedIn("/products/new?mode=test"), 0},
	{"desk_product_refused", ofDesk, inOrder(signedIn("/products/new"), enter("#name", "Fjord"), press("#edit .go", "#price-error")), http.StatusUnprocessableEntity},
	{"desk_product", ofDesk, inOrder(signedIn("/products/coffee/edit"), press("details.more summary", ".order")), 0},
	{"desk_product_stale", ofDesk, changedMeanwhile, http.StatusConflict},
	{"desk_product_remove", ofDesk, signedIn("/products/coffee/remove"), 0},
	{"desk_links", ofDesk, signedIn("/links?mode=test"), 0},
	{"desk_links_removed", ofDesk, linkRemoved, 0},
	{"desk_links_none", ofDesk, signedIn("/links"), 0},
	{"desk_link_new", ofDesk, signedIn("/links/new?mode=test"), 0},
	{"desk_link_new_refused", ofDesk, inOrder(signedIn("/links/new"), enter("#amount", "2,500"), press("#edit .go", "#amount-error")), http.StatusUnprocessableEntity},
	{"desk_checkout_link", ofDesk, signedIn("/links/tip-jar/edit?done=link-added"), 0},
	{"desk_checkout_link_remove", ofDesk, signedIn("/links/tip-jar/remove"), 0},
	{"desk_terminals", ofDesk, signedIn("/terminals?mode=test"), 0},
	{"desk_terminals_none", ofDesk, signedIn("/terminals"), 0},
	{"desk_terminal_new", ofDesk, signedIn("/terminals/new"), 0},
	{"desk_terminal_refused", ofDesk, inOrder(signedIn("/terminals/new"), enter("#name", strings.Repeat("x", 65)), press("#edit .go", "#name-error")), http.StatusUnprocessableEntity},
	{"desk_terminal_added", ofDesk, inOrder(signedIn("/terminals/new?mode=test"), enter("#name", "Market stall"), press("#edit .go", ".qr")), 0},
	{"desk_terminal_sellers", ofDesk, atSellers, 0},
	{"desk_own", ofDesk, withTerminal("/own"), 0},
	{"desk_own_none", ofDesk, withoutTerminal, 0},
	{"desk_own_not_found", ofDesk, withTerminal("/own?q=1047"), 0},
	{"desk_own_payment", ofDesk, inOrder(withTerminal("/own"), press(".rows tbody tr:first-child a", ".facts")), 0},
	{"desk_own_refused", ofDesk, withTerminal("/payments"), http.StatusForbidden},
	{"desk_terminal_remove", ofDesk, inOrder(signedIn("/terminals?mode=test"), press(".list .no", "#decide")), 0},
	{"desk_storefront", ofDesk, signedIn("/storefront?mode=test"), 0},
	{"desk_storefront_product", ofDesk, signedIn("/storefront?mode=test&item=shop/coffee"), 0},
	{"desk_storefront_none", ofDesk, signedIn("/storefront"), 0},
	{"desk_storefront_refused", ofDesk, signedIn("/storefront?mode=test&item=pay/nothing"), http.StatusUnprocessableEntity},
	{"test_tools_refused", ofPayment, inOrder(atInvoice(nil), withQuery("?refused=nothing_to_do")), 0},
}

// budget is the limit for a page's first visit: the bytes that Chromium receives, including
// headers, and the number of requests.
type budget struct {
	kilobytes float64
	perMethod float64 // additional kilobytes for each payment method after the second
	requests  int     // including the icon and the stream
}

var (
	ofForm         = budget{kilobytes: 10, requests: 3}
	ofList         = budget{kilobytes: 12, requests: 3}
	ofCounter      = budget{kilobytes: 15, perMethod: 1.5, requests: 7}
	ofTerminal     = budget{kilobytes: 12, requests: 5}
	ofLink         = budget{kilobytes: 10, requests: 4}                // the fourth is the script for embedding pages
	ofPayment      = budget{kilobytes: 15, perMethod: .8, requests: 6} // .7, and 1.5 for Lightning
	ofBuilder      = budget{kilobytes: 10, requests: 5}
	ofDocs         = budget{kilobytes: 40, requests: 3}
	ofReference    = budget{kilobytes: 48, requests: 3} // one page with every call of the API
	ofDesk         = budget{kilobytes: 40, requests: 5}
	checkedByReach = budget{} // checked by reach, before the stream sends more
)

// demoSite is the demo shop that all page states use, with links, whose payment pages may be framed.
type demoSite struct {
	*program
	settings config.Config
	t        *testing.T
	terminal string      // address of the shop's terminal
	owner    *deskClient // the owner's account of the desk
	seller   *deskClient
	page     string // address of the invoice's page, without a query
	webhook  string // address of the webhook's page at the desk
}

// newDemoSite starts the demo with a terminal, a link, an owner and a seller.
func newDemoSite(t *testing.T) *demoSite {
	t.Helper()
	c := settings(t, "CHEQUER_EMBED_ORIGINS=https://shop.example", "CHEQUER_CALLBACK_ALLOW=127.0.0.0/8")
	p := start(t, c, app.Options{Demo: true})
	terminal, _ := p.createTerminal(t, c)
	newShop(t, p.url, p.key).call(p.url, p.key, "POST", api.PathLinks, `{"slug":"tip-jar","fiat_currency":"EUR","description":"Whatever it was worth to you"}`, nil)
	link, err := p.app.DeskLink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	site := &demoSite{program: p, settings: c, t: t, terminal: terminal, owner: newDeskClient(t, link.URL, "Maren")}
	site.seller = newDeskClient(t, site.owner.invite("seller"), "Jonas")
	return site
}

// in returns the site for a subtest.
func (d *demoSite) in(t *testing.T) *demoSite {
	d.owner.in(t).confirm()
	return &demoSite{program: d.program, settings: d.settings, t: t, terminal: d.terminal, owner: d.owner.in(t), seller: d.seller.in(t)}
}

// shop returns a client of the shop's API.
func (d *demoSite) shop() shop { return newShop(d.t, d.url, d.key) }
