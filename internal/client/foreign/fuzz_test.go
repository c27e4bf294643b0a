package foreign_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"chequer/internal/api"
	"chequer/internal/client"
)

func FuzzClient_returns_only_valid_values(f *testing.F) {
	for _, specOnly := range []bool{false, true} {
		for _, status := range []uint{200, 404, 409, 503} {
			f.Add(full, `"7"`, "price_held", "ab", "", status, specOnly)
			f.Add(specification, "\"7\n\n\"", "a\nb", "a\nb", "Fri, 31 Dec 9999 23:59:59 GMT", status, specOnly)
			f.Add(strings.Replace(specification, "created", "paid", 1), "", "", "ab", "", status, specOnly)
			f.Add(`{"message":"a\nb"}`, "", "", "", "", status, specOnly)
		}
	}
	f.Add(strings.ReplaceAll(full, `"confirmations":1`, `"confirmations":-1`), "", "", "", "", uint(200), false)
	f.Add(strings.ReplaceAll(full, "Chair", `\u0085\u2028`), "", "", "", "", uint(200), false)
	f.Fuzz(func(t *testing.T, body, tag, code, tx, date string, status uint, specOnly bool) {
		header := map[string]string{"Etag": tag, api.HeaderErrorCode: code, api.HeaderPaidTx: tx, api.HeaderPaidCurrency: tx, "Date": date}
		c := hostile(t, specOnly, 200+int(status%400), header, body)
		requestedID := "f-1"
		if id, err := c.CreateInvoice(t.Context(), plainRequest, ""); err != nil {
			wantValidError(t, err)
		} else if requestedID = id; !validID.MatchString(id) {
			t.Errorf("CreateInvoice() = %q", id)
		}
		got, err := c.Invoice(t.Context(), requestedID)
		if err != nil {
			wantValidError(t, err)
			return
		}
		if got.Resource.ForeignID != requestedID || !validTag.MatchString(got.ETag) {
			t.Errorf("ETag %q of %q", got.ETag, got.Resource.ForeignID)
		}
		wantValid(t, got.Resource)
	})
}

var (
	validID     = regexp.MustCompile(`\A[A-Za-z0-9_-]{1,64}\z`)
	validTag    = regexp.MustCompile(`\A[!-~]{1,100}\z`)
	validAmount = regexp.MustCompile(`\A[0-9]+(\.[0-9]+)?\z`)
)

func wantValidError(t *testing.T, err error) {
	t.Helper()
	apiErr, ok := errors.AsType[*client.Error](err)
	if ok && (utf8.RuneCountInString(apiErr.Message) > 300 || len(apiErr.Code) > 64) || !isValidText(err.Error(), 400) {
		t.Errorf("error %q", err)
	}
}

func isValidText(text string, maximum int) bool {
	return utf8.ValidString(text) && utf8.RuneCountInString(text) <= maximum &&
		!strings.ContainsFunc(text, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) })
}

// wantValid checks the JSON of a resource by the names of its fields, independently of the rules in the
// code.
func wantValid(t *testing.T, r api.Resource) {
	t.Helper()
	if !slices.Contains([]string{"created", "pending", "paid", "expired", "declined"}, r.Status) || !validID.MatchString(r.ForeignID) {
		t.Errorf("%q is %q, want a valid identifier and status", r.ForeignID, r.Status)
	}
	if len(r.PaymentMethods) > 32 || len(r.Payments) > 1000 || len(r.Quotes) > 100 || len(r.Refunds) > 100 || len(r.Exceptions) > 8 {
		t.Error("a list is too long")
	}
	body, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.UseNumber()
	var object any
	if err := d.Decode(&object); err != nil {
		t.Fatal(err)
	}
	wantValidField(t, "", object)
}

var longest = map[string]int{
	"merchant_name": 200, "description": 512, "order_id": 128, "address": 200, "refund_address": 200, "tx": 200, "paid_tx": 200,
	"url_success": 2048, "url_failure": 2048, "payment_uri": 2048, "payment_code": 2048, "address_code": 2048, "metadata": 8 << 10,
	"contract": 200, "id": 200, "reason": 512, "actor": 200, "address_by": 200, "asked_by": 200, "prepared_by": 200, "sent_by": 200, "closed_by": 200,
}

func wantValidField(t *testing.T, name string, value any) {
	t.Helper()
	switch v := value.(type) {
	case map[string]any:
		for inner, value := range v {
			if name == "metadata" {
				wantValidField(t, name, inner)
				inner = name
			}
			wantValidField(t, inner, value)
		}
	case []any:
		for _, value := range v {
			wantValidField(t, name, value)
		}
	case json.Number:
		n, err := strconv.ParseInt(v.String(), 10, 64)
		if err != nil || name != "seconds_left" && (n < 0 || n > 1e6) || n > 4e8 || n < -4e8 {
			t.Errorf("%s is %s, want a number within its bounds", name, v)
		}
	case string:
		maximum := longest[name]
		if maximum == 0 {
			maximum = 64
		}
		isVAT := name == "net_amount" || name == "vat_amount" || name == "vat_rate"
		isAmount, isRate := strings.HasSuffix(name, "amount") && !isVAT, strings.HasPrefix(name, "rate_") && name != "rate_source" || isVAT
		switch {
		case !isValidText(v, maximum):
			t.Errorf("%s is %.100q, want valid text of its length", name, v)
		case (isAmount || isRate && v != "") && (len(v) > 40 || !validAmount.MatchString(v)):
			t.Errorf("%s is %q, want an amount in plain digits", name, v)
		case strings.HasPrefix(name, "url_") && v != "" && !strings.HasPrefix(strings.ToLower(v), "http"):
			t.Errorf("%s is %q, want an address of http", name, v)
		case (strings.HasSuffix(name, "_at") || name == "from" || name == "until") && v != "":
			if _, err := time.Parse(time.RFC3339, v); err != nil {
				t.Errorf("%s is %q, want a time of RFC 3339", name, v)
			}
		}
	}
}
