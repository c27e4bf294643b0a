package visit

import (
	"encoding/json"
	"net/http"

	"chequer/views/desk"
)

// passkeyOptions is the answer to the script that asks the browser for a passkey. The script returns
// the offer with the browser's answer.
type passkeyOptions struct {
	Options json.RawMessage `json:"options"`
	Offer   string          `json:"offer"`
}

// passkeyFault is the answer to the script if there are no options.
type passkeyFault struct {
	Error string `json:"error"`
}

// SendOptions answers the script with the options of a WebAuthn ceremony, or with the error if forms show it.
func (v *Visit) SendOptions(options []byte, offer string, err error) error {
	switch {
	case err == nil:
		return v.JSON(http.StatusOK, passkeyOptions{options, offer})
	case v.IsShownInForm(err):
		text := v.Problem(err)
		for _, field := range []string{"name", "password", "role"} {
			text += v.FieldProblem(err, field)
		}
		return v.JSON(http.StatusUnprocessableEntity, passkeyFault{text})
	}
	return err
}

// Credential returns the browser's answer to a ceremony, and its offer.
func (v *Visit) Credential() (offer string, response []byte) {
	return v.FormValue("offer"), []byte(v.FormValue("credential"))
}

// Passkey returns p with the fields that all forms for a passkey share; the empty form if browsers allow no passkeys at
// the site.
func (v *Visit) Passkey(p desk.Passkey) desk.Passkey {
	if !v.Accounts.HasPasskeys() {
		return desk.Passkey{}
	}
	p.Options, p.Failed = p.Action+"/options", v.Text("desk.passkey.failed")
	return p
}
