package account

import (
	"encoding/json"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"
)

// offerTTL is the time in which a prepared sign-in method must be finished.
const offerTTL = 15 * time.Minute

// offer is a prepared sign-in method or assertion. The page carries it, sealed, so that the server
// stores nothing for callers that have not signed in.
type offer struct {
	Purpose   string               `json:"purpose"` // the ticket, account or session that may finish it
	ExpiresAt time.Time            `json:"expires_at"`
	Account   Account              `json:"account,omitzero"`
	Password  *Password            `json:"password,omitempty"`
	Passkey   webauthn.SessionData `json:"passkey,omitzero"`
}

// sealOffer returns the sealed text of an offer.
func (s *Service) sealOffer(o offer) (string, error) {
	o.ExpiresAt = s.Now().Add(offerTTL)
	text, err := json.Marshal(o)
	if err != nil {
		return "", err
	}
	return s.Box.Seal(offerSeal, text), nil
}

// openOffer opens the text of an offer that was made for a purpose; ErrOffer.
func (s *Service) openOffer(purpose, sealed string) (o offer, err error) {
	text, err := s.Box.Open(offerSeal, sealed)
	if err != nil {
		return o, ErrOffer
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return o, ErrOffer
	}
	if o.Purpose != purpose || !s.Now().Before(o.ExpiresAt) {
		return o, ErrOffer
	}
	return o, nil
}

// offerSeal separates sealed offers from other sealed texts.
const offerSeal = "desk offer"
