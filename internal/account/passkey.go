package account

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
)

// Passkey is a WebAuthn credential with which an account signs in.
type Passkey struct {
	Name       string              `json:"name"`
	Host       string              `json:"host"` // relying party: the only host at which it works
	Credential webauthn.Credential `json:"credential"`
	CreatedAt  time.Time           `json:"created_at"`
	UsedAt     time.Time           `json:"used_at"`
}

// ID identifies the passkey in lists.
func (p Passkey) ID() string {
	sum := sha256.Sum256(p.Credential.ID)
	return hex.EncodeToString(sum[:8])
}

// Synced reports whether the passkey may be copied to other devices.
func (p Passkey) Synced() bool { return p.Credential.Flags.BackupEligible }

// relyingParty returns the verifier of passkeys of a site, or nil if browsers allow none there.
func relyingParty(site Site, name string) (*webauthn.WebAuthn, error) {
	if !site.Passkeys() {
		return nil, nil
	}
	required := true
	w, err := webauthn.New(&webauthn.Config{
		RPID: site.Host, RPDisplayName: name, RPOrigins: []string{site.Origin},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			RequireResidentKey: &required, ResidentKey: protocol.ResidentKeyRequirementRequired, UserVerification: protocol.VerificationRequired,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("passkeys of %s: %w", site.Host, err)
	}
	return w, nil
}

// holder implements webauthn.User for an account and the passkeys of one host.
type holder struct {
	Account
	host string
}

func (h holder) WebAuthnID() []byte          { return []byte(h.ID) }
func (h holder) WebAuthnName() string        { return h.Name }
func (h holder) WebAuthnDisplayName() string { return h.Name }

// WebAuthnCredentials returns the credentials of the site.
func (h holder) WebAuthnCredentials() (credentials []webauthn.Credential) {
	for _, p := range h.SignIn.Passkeys {
		if p.Host == h.host {
			credentials = append(credentials, p.Credential)
		}
	}
	return credentials
}

// descriptors returns the credentials that an authenticator must not create again.
func (h holder) descriptors() (credentials []protocol.CredentialDescriptor) {
	for _, c := range h.WebAuthnCredentials() {
		credentials = append(credentials, c.Descriptor())
	}
	return credentials
}

// beginAssertion returns the options of a browser's call of navigator.credentials.get, for any account,
// and the data with which the response is verified.
func beginAssertion(w *webauthn.WebAuthn) (options []byte, data webauthn.SessionData, err error) {
	assertion, session, err := w.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return nil, data, fmt.Errorf("prepare passkey: %w", err)
	}
	options, err = json.Marshal(assertion)
	return options, *session, err
}

// beginCreation returns the options of a browser's call of navigator.credentials.create, and the data with which the
// response is verified.
func beginCreation(w *webauthn.WebAuthn, a Account) (options []byte, data webauthn.SessionData, err error) {
	h := holder{a, w.Config.RPID}
	creation, session, err := w.BeginRegistration(h, webauthn.WithExclusions(h.descriptors()))
	if err != nil {
		return nil, data, fmt.Errorf("prepare passkey: %w", err)
	}
	options, err = json.Marshal(creation)
	return options, *session, err
}

// finishCreation returns the new passkey of a browser's response, or ErrPasskey.
func finishCreation(w *webauthn.WebAuthn, a Account, data webauthn.SessionData, response []byte, name string, now time.Time) (Passkey, error) {
	parsed, err := protocol.ParseCredentialCreationResponseBytes(response)
	if err != nil {
		return Passkey{}, fmt.Errorf("%w: %w", ErrPasskey, err)
	}
	credential, err := w.CreateCredential(holder{a, w.Config.RPID}, data, parsed)
	if err != nil {
		return Passkey{}, fmt.Errorf("%w: %w", ErrPasskey, err)
	}
	return Passkey{Name: name, Host: w.Config.RPID, Credential: *credential, CreatedAt: now, UsedAt: now}, nil
}

// parseAssertion returns the ID of the account to which the response of an authenticator belongs, before it is
// verified. It returns ErrPasskey if the response cannot be parsed.
func parseAssertion(response []byte) (id string, parsed *protocol.ParsedCredentialAssertionData, err error) {
	parsed, err = protocol.ParseCredentialRequestResponseBytes(response)
	if err != nil {
		return "", nil, fmt.Errorf("%w: %w", ErrPasskey, err)
	}
	return string(parsed.Response.UserHandle), parsed, nil
}

// usePasskey verifies the response of an authenticator and records the use of the passkey. It returns
// ErrPasskey if the response is not valid, or if the counter does not increase, which means that the
// passkey was copied.
func (a *Account) usePasskey(w *webauthn.WebAuthn, data webauthn.SessionData, parsed *protocol.ParsedCredentialAssertionData, now time.Time) error {
	_, credential, err := w.ValidatePasskeyLogin(func(_, _ []byte) (webauthn.User, error) { return holder{*a, w.Config.RPID}, nil }, data, parsed)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPasskey, err)
	}
	if credential.Authenticator.CloneWarning {
		return fmt.Errorf("%w: its counter did not increase", ErrPasskey)
	}
	for i, p := range a.SignIn.Passkeys {
		if bytes.Equal(p.Credential.ID, credential.ID) {
			a.SignIn.Passkeys[i].Credential, a.SignIn.Passkeys[i].UsedAt = *credential, now
			return nil
		}
	}
	return ErrPasskey
}
