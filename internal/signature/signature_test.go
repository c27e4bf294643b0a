package signature_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"chequer/internal/signature"
)

// The sample from the CryptoProcessing documentation: see
// https://docs.cryptoprocessing.com/api-reference/authentication.
const (
	sampleSecret    = "AbCdEfG123456"
	sampleBody      = `{"currency":"BTC","foreign_id":"123456"}`
	sampleSignature = "03c25fcf7cd35e7d995e402cd5d51edd72d48e1471e865907967809a0c189ba55b90815f20e2bb10f82c7a9e9d865546fda58989c2ae9e8e2ff7bc29195fa1ec"
)

func TestSign_returns_the_HMAC_SHA512_of_the_bytes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		secret, message, want string
	}{
		"RFC 4231 test case 2": {
			"Jefe", "what do ya want for nothing?",
			"164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
		},
		"documented sample": {sampleSecret, sampleBody, sampleSignature},
		"trailing newline": {
			sampleSecret, "{\"currency\":\"BTC\",\"foreign_id\":\"123456\"}\n",
			"8b313e28f60d96b21e0376ef3fbf83bb48b75261c1a0c6f0152bb9674eb637671b4c3bbd97781bb707b0496d27be6f1fe13d6e870fb9f6d6cf49391d780995cd",
		},
		"spaces": {
			sampleSecret, "{\"currency\": \"BTC\", \"foreign_id\": \"123456\"}",
			"49a7b1d9dd93d6d4e99f7a665ae03abea2d0a0bf40c8279bd009c24fc422db268d8bf494ecd1494de307eddb1d2fc90b977062e20f38a749a70aeff0890e1858",
		},
		"other order": {
			sampleSecret, "{\"foreign_id\":\"123456\",\"currency\":\"BTC\"}",
			"0fbeddecd74b17380e080d94feec30f538d41f031011ec68e349c5742dfe8fd9a5cf732e34bbe88b901ccca8d13edf0965d4cce90b3fdaaf791a209f62e60e04",
		},
		"nothing": {
			sampleSecret, "",
			"0104da715ed5bb364eba7167a71316e194f5ca21629884dca6c368cfd411d2b8404d0cccf928a76ef5b8d170eae711d9a9ef4d9c74cd23693869c96fd64c335f",
		},
		"empty object": {
			sampleSecret, "{}",
			"89ff570683bfcd9e2c8911332e07e3ff196ca50f91faef98126fb0eb76df90d7ccddc4372a99ba67ec072fd3aac5d0b7eac44652e2b29ce36dbcf5ee50b6fa05",
		},
		"number for string": {
			sampleSecret, "{\"currency\":\"BTC\",\"foreign_id\":123456}",
			"334ec72dd103ca1ec46de6f1eff741a81d002aeb7d37a151a2be299dfded0e43985fb1646e567c3e7078085544fe255cc3d046cfb2edd23b026ca2e533d5bcb7",
		},
		"UTF-8": {
			sampleSecret, "{\"currency\":\"BTC\",\"foreign_id\":\"Zażółć ☕\"}",
			"00afcadba7ff6fec10d2a61c700ebbd319a25b5bdca1b765cc14a67a65d5fae1b7435cde1bfd6c76c5994a51feeb8ad54d0698b7a57e304bfce3827bcb407063",
		},
		"escaped UTF-8": {
			sampleSecret, "{\"currency\":\"BTC\",\"foreign_id\":\"Za\\u017c\\u00f3\\u0142\\u0107 \\u2615\"}",
			"dd75d794623d9f5406178a626bf0efd3846bfb4ae91ee598b3de0b784e517c2d6d97437e13170f21622b881a7ae716822f8cc773cab5453ba2c7792ba6fb3c8b",
		},
		"amount as string": {
			sampleSecret, "{\"currency\":\"BTC\",\"amount\":\"1.0\"}",
			"8d3bb9fbe4918b5f375d8cea2aacbd61d1c215013e09d6b8694b2d164d611451e7f9c340ccafb53bd68b675ba9ae1f570b3112f1703d0cf2badcdd4a4c1a21be",
		},
		"amount with a zero": {
			sampleSecret, "{\"currency\":\"BTC\",\"amount\":1.0}",
			"ec89b217d9e2d79b1f615dafbb795262cbc6a1330e80c52715dcc2dc434bed556f31390931ea1ab17e2e0ae3f48f8631d2b16fb6c269759c3ec2b7238a0eea63",
		},
		"amount as integer": {
			sampleSecret, "{\"currency\":\"BTC\",\"amount\":1}",
			"adaee1a222654dcb04e25330f2bdf0df5db1284889708b63cf2bb3bad4d4679ee771d6f6075d3a030d522481eabd2915a14630c8b50bfddf58013a5c44102094",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := signature.Sign(test.secret, []byte(test.message)); got != test.want {
				t.Errorf("Sign() = %s, want %s", got, test.want)
			}
			if !signature.Verify(test.secret, []byte(test.message), test.want) {
				t.Error("Verify() = false for the right signature")
			}
			if other := sampleSignature; other != test.want && signature.Verify(test.secret, []byte(test.message), other) {
				t.Error("Verify() = true for the signature of another message")
			}
		})
	}
}

func TestVerify_accepts_only_the_complete_signature(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		secret, message, signature string
		want                       bool
	}{
		"lower-case hex":   {sampleSecret, sampleBody, sampleSignature, true},
		"upper-case hex":   {sampleSecret, sampleBody, strings.ToUpper(sampleSignature), true},
		"mixed-case hex":   {sampleSecret, sampleBody, strings.Replace(sampleSignature, "c", "C", 5), true},
		"other secret":     {sampleSecret + "7", sampleBody, sampleSignature, false},
		"other message":    {sampleSecret, sampleBody + " ", sampleSignature, false},
		"nothing":          {sampleSecret, sampleBody, "", false},
		"first half":       {sampleSecret, sampleBody, sampleSignature[:64], false},
		"one digit less":   {sampleSecret, sampleBody, sampleSignature[1:], false},
		"one byte more":    {sampleSecret, sampleBody, sampleSignature + "00", false},
		"leading space":    {sampleSecret, sampleBody, " " + sampleSignature, false},
		"not hex":          {sampleSecret, sampleBody, strings.Repeat("zz", 64), false},
		"zeros":            {sampleSecret, sampleBody, strings.Repeat("0", 128), false},
		"another last bit": {sampleSecret, sampleBody, sampleSignature[:127] + "d", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := signature.Verify(test.secret, []byte(test.message), test.signature); got != test.want {
				t.Errorf("Verify() = %v, want %v", got, test.want)
			}
		})
	}
}

func TestVerifyBody_accepts_spaces_added_to_compact_JSON(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		signed, sent string
		want         bool
	}{
		"exact bytes":                         {sampleBody, sampleBody, true},
		"exact bytes with spaces":             {`{"a": 1}`, `{"a": 1}`, true},
		"signed compact, sent spaced":         {`{"a":1,"b":[2,3]}`, "{\n\t\"a\": 1, \"b\": [ 2, 3 ] }\r\n", true},
		"signed spaced, sent compact":         {`{"a": 1}`, `{"a":1}`, false},
		"signed with other spaces":            {`{"a": 1}`, `{ "a":1 }`, false},
		"spaces inside a string count":        {`{"a":"bc"}`, `{"a":"b c"}`, false},
		"order of keys counts":                {`{"a":1,"b":2}`, `{"b":2,"a":1}`, false},
		"spelling of numbers counts":          {`{"a":1}`, `{"a":1.0}`, false},
		"escapes in a string count":           {`{"a":"\u017c"}`, `{"a":"ż"}`, false},
		"HTML characters are not escaped":     {`{"a":"<&>"}`, `{ "a": "<&>" }`, true},
		"nothing":                             {"", "", true},
		"not JSON, exact":                     {`{"a":1`, `{"a":1`, true},
		"not JSON, signed differently":        {`{"a":1`, `{ "a":1`, false},
		"two values, signed differently":      {`{}{}`, `{} {}`, false},
		"byte order mark, signed differently": {`{}`, "\ufeff{}", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			signed := signature.Sign(sampleSecret, []byte(test.signed))
			if got := signature.VerifyBody(sampleSecret, []byte(test.sent), signed); got != test.want {
				t.Errorf("VerifyBody() = %v, want %v", got, test.want)
			}
		})
	}
}

func FuzzVerifyBody(f *testing.F) {
	f.Add("secret", []byte(sampleBody), sampleSignature)
	f.Add(sampleSecret, []byte("{ \"a\" : 1.50 }"), strings.ToUpper(sampleSignature))
	f.Add("", []byte(nil), "")
	f.Add("s", []byte("{\"a\":"), "00")
	f.Fuzz(func(t *testing.T, secret string, body []byte, mac string) {
		before := bytes.Clone(body)
		if !signature.VerifyBody(secret, body, signature.Sign(secret, body)) {
			t.Error("the signature of the exact bytes is refused")
		}
		var compact bytes.Buffer
		if json.Compact(&compact, body) == nil {
			if !signature.VerifyBody(secret, body, signature.Sign(secret, compact.Bytes())) {
				t.Error("the signature of the compact bytes is refused")
			}
		}
		if signature.VerifyBody(secret, body, mac) &&
			!strings.EqualFold(mac, signature.Sign(secret, body)) &&
			!strings.EqualFold(mac, signature.Sign(secret, compact.Bytes())) {
			t.Errorf("a signature of neither form is accepted: %q", mac)
		}
		if !bytes.Equal(body, before) {
			t.Error("the body is changed")
		}
	})
}
