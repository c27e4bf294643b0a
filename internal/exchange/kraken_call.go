package exchange

import (
	"chequer/internal/format"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// public makes a call without an account.
func (k *Kraken) public(ctx context.Context, call string, query url.Values, target any) error {
	path := "/0/public/" + call
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	answer, err := k.client.get(ctx, path)
	if err != nil {
		return err
	}
	return krakenResult(answer, target)
}

// private makes a call of an account. API-Sign is the HMAC-SHA512, with the decoded secret as key,
// of the path and the SHA-256 of nonce and form. See
// https://docs.kraken.com/exchange/guides/rest/authentication
func (k *Kraken) private(ctx context.Context, a Account, call string, form url.Values, target any) error {
	secret, err := base64.StdEncoding.DecodeString(a.Secret)
	if err != nil {
		return &RefusedError{KindKey, "the secret is not Base64"}
	}
	path, nonce := "/0/private/"+call, strconv.FormatInt(a.Nonce(), 10)
	form.Set("nonce", nonce)
	text := form.Encode()
	header := http.Header{
		"Content-Type": {"application/x-www-form-urlencoded"}, "Api-Key": {a.Key}, "Api-Sign": {krakenSign(secret, path, nonce, text)},
	}
	answer, err := k.client.do(ctx, http.MethodPost, path, text, header)
	if err != nil {
		return err
	}
	return krakenResult(answer, target)
}

func krakenSign(secret []byte, path, nonce, form string) string {
	sum := sha256.Sum256([]byte(nonce + form))
	mac := hmac.New(sha512.New, secret)
	mac.Write([]byte(path))
	mac.Write(sum[:])
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// krakenResult decodes an answer: errors, or a result. Kraken always answers with status 200; other
// statuses come from a proxy.
func krakenResult(r response, target any) error {
	if r.status != http.StatusOK {
		return fmt.Errorf("%w: status %d", ErrNoAnswer, r.status)
	}
	var answer struct {
		Error  []string
		Result json.RawMessage
	}
	if err := decode(r.body, &answer); err != nil {
		return err
	}
	for _, text := range answer.Error {
		if strings.HasPrefix(text, "W") {
			continue // a warning with a result
		}
		return krakenError(format.OneLine(text, maxMessage))
	}
	if len(answer.Result) == 0 || string(answer.Result) == "null" {
		return fmt.Errorf("%w: neither an error nor a result", ErrNoAnswer)
	}
	return decode(answer.Result, target)
}

// krakenErrors are the beginnings of the errors that mean that Kraken did nothing. See
// https://docs.kraken.com/exchange/guides/general/errors and
// https://support.kraken.com/hc/en-us/articles/360001491786. After any other error the outcome is
// unknown: an order may exist although the service was "unavailable", had an "internal error" or
// reached its deadline.
var krakenErrors = []struct {
	prefix string
	kind   Kind
}{
	{"EOrder:Insufficient funds", KindFunds},
	{"EOrder:Order minimum not met", KindMinimum},
	{"EOrder:Cost minimum not met", KindMinimum},
	{"EOrder:Invalid price", KindPrice},
	{"EOrder:Tick size check failed", KindOther},
	{"EOrder:Orders limit exceeded", KindBusy},
	{"EOrder:Rate limit exceeded", KindBusy},
	{"EOrder:Domain rate limit exceeded", KindBusy},
	{"EOrder:Trading agreement required", KindOther},
	{"EAPI:Rate limit exceeded", KindBusy},
	{"EAuth:Rate limit exceeded", KindBusy},
	{"EAuth:Too many requests", KindBusy},
	{"EGeneral:Temporary lockout", KindBusy},
	{"EGeneral:Too many requests", KindBusy},
	{"EService:Market in cancel_only mode", KindMaintenance},
	{"EService:Market in post_only mode", KindMaintenance},
	{"EAPI:Invalid nonce", KindNonce},
	{"EAPI:Invalid key", KindKey},
	{"EAPI:Invalid signature", KindKey},
	{"EGeneral:Permission denied", KindKey},
	{"EAccount:Invalid permissions", KindKey},
	{"EAuth:Account temporary disabled", KindKey},
	{"EAuth:Account unconfirmed", KindKey},
	{"EQuery:Unknown asset pair", KindOther},
	{"EQuery:Invalid asset pair", KindOther},
	{"EGeneral:Invalid arguments:volume", KindMinimum},
	{"EGeneral:Invalid arguments:price", KindPrice},
}

// krakenError returns the error for a text of Kraken.
func krakenError(text string) error {
	for _, e := range krakenErrors {
		if strings.HasPrefix(text, e.prefix) {
			return &RefusedError{e.kind, text}
		}
	}
	if strings.HasPrefix(text, "EOrder:Unknown order") || strings.HasPrefix(text, "EOrder:Invalid order") {
		return errors.Join(ErrNotFound, errors.New(text))
	}
	return fmt.Errorf("%w: %s", ErrNoAnswer, text)
}
