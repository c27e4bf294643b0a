package team

import "strings"

// logNouns are the keys of the names of objects that have another name on pages than in the audit log.
var logNouns = map[string]string{
	"case": "desk.log.case", "desk": "desk.log.desk", "endpoint": "desk.log.endpoint", "key": "desk.log.key", "link": "desk.log.link", "sign_in": "desk.log.signin",
}

// logActions are the keys of the texts of actions whose words in the audit log are not clear on a page.
var logActions = map[string]string{
	"account.invited": "desk.log.account.invited", "account.invitation_withdrawn": "desk.log.account.withdrawn", "account.passkey_added": "desk.log.account.passkey.added",
	"account.passkey_removed": "desk.log.account.passkey.removed", "account.passkey_renamed": "desk.log.account.passkey.renamed",
	"account.shortcuts_set": "desk.log.account.shortcuts", "session.created": "desk.log.session.created", "session.ended": "desk.log.session.ended",
	"session.stepped_up": "desk.log.session.confirmed",
}

// actionText returns an action of the audit log, such as "endpoint.retried", in words: "Webhook retried".
func (v *page) actionText(action string) string {
	if id, known := logActions[action]; known {
		return v.Text(id)
	}
	noun, participle, _ := strings.Cut(action, ".")
	name := plainWords(noun)
	if id, known := logNouns[noun]; known {
		name = v.Text(id)
	}
	if name == "" {
		return plainWords(participle)
	}
	return strings.ToUpper(name[:1]) + name[1:] + " " + plainWords(participle)
}

// plainWords returns a name of the audit log, such as "time_zone", as words. A name with spaces has words already, and may
// contain an identifier.
func plainWords(name string) string {
	if strings.Contains(name, " ") {
		return name
	}
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '.' }), " ")
}
