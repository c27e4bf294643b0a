package account

import (
	"fmt"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"
)

// codePeriod is the time for which an authenticator app shows a code.
const codePeriod = 30 * time.Second

// newSeed returns a random seed of an authenticator app, and its address for a QR code. Authenticator apps show the
// issuer and the name.
func newSeed(issuer, name string) (seed, uri string, err error) {
	key, err := totp.Generate(totp.GenerateOpts{Issuer: strings.ReplaceAll(issuer, ":", " "), AccountName: strings.ReplaceAll(name, ":", " ")})
	if err != nil {
		return "", "", fmt.Errorf("make seed: %w", err)
	}
	return key.Secret(), key.URL(), nil
}

// useCode returns the time step of a code, which must be later than that of the last code, so that
// each code is used once. Codes are accepted one step early or late. See RFC 6238, section 5.2; ErrCode.
func useCode(seed, code string, last int64, now time.Time) (step int64, err error) {
	code = strings.Map(func(r rune) rune {
		if r == ' ' {
			return -1
		}
		return r
	}, code)
	current := now.Unix() / int64(codePeriod/time.Second)
	for step := current - 1; step <= current+1; step++ {
		if step <= last {
			continue
		}
		at := time.Unix(step*int64(codePeriod/time.Second), 0)
		ok, err := totp.ValidateCustom(code, seed, at, totp.ValidateOpts{Period: uint(codePeriod / time.Second), Digits: otp.DigitsSix})
		if err == nil && ok {
			return step, nil
		}
	}
	return last, ErrCode
}
