package lndtest_test

import (
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain/lightning/bolt11"
)

// decoded is a payment request as the decoder of lnd shows it.
type decoded struct {
	Destination     string
	PaymentHash     string `json:"payment_hash"`
	MilliSatoshi    string `json:"num_msat"`
	Time            string `json:"timestamp"`
	Expiry          string
	Description     string
	DescriptionHash string `json:"description_hash"`
	CLTV            string `json:"cltv_expiry"`
	PaymentSecret   []byte `json:"payment_addr"`
	Features        map[string]struct{}
}

// decode lets lnd decode a request.
func (l lab) decode(t *testing.T, text string) decoded {
	t.Helper()
	var d decoded
	l.Shop.Call(t, http.MethodGet, "/v1/payreq/"+text, nil, &d)
	return d
}

// asDecoded returns a request in the form of the decoder of lnd.
func asDecoded(r bolt11.Request) decoded {
	d := decoded{
		Destination: hex.EncodeToString(r.NodeKey[:]), PaymentHash: hex.EncodeToString(r.PaymentHash[:]), MilliSatoshi: strconv.FormatInt(r.MilliSatoshi, 10),
		Time: strconv.FormatInt(r.Time.Unix(), 10), Expiry: strconv.FormatInt(int64(r.Expiry/time.Second), 10), Description: r.Description,
		DescriptionHash: hex.EncodeToString(r.DescriptionHash), CLTV: strconv.Itoa(int(r.FinalCLTV)), PaymentSecret: r.PaymentSecret[:], Features: map[string]struct{}{},
	}
	for _, bit := range r.Features {
		d.Features[strconv.Itoa(bit)] = struct{}{}
	}
	return d
}

const randomRequests = 200

// testRequests compares the reader and the writer of requests with those of lnd.
func testRequests(t *testing.T, l lab) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	t.Run("requests of lnd are read as lnd reads them", func(t *testing.T) {
		for range randomRequests {
			content := l.randomInvoice(random)
			var made struct {
				Request string `json:"payment_request"`
			}
			l.Shop.Call(t, http.MethodPost, "/v1/invoices", content, &made)
			got, err := bolt11.Parse(made.Request)
			if err != nil {
				t.Fatalf("seed %d: Parse(%s) of %v: %v", seed, made.Request, content, err)
			}
			if diff := cmp.Diff(asDecoded(got), l.decode(t, made.Request)); diff != "" {
				t.Fatalf("seed %d: Parse(%s) of %v differs (-got +want):\n%s", seed, made.Request, content, diff)
			}
			if wanted, ok := content["value_msat"].(string); ok && strconv.FormatInt(got.MilliSatoshi, 10) != wanted {
				t.Fatalf("seed %d: Parse(%s) asks %d msat, want %s", seed, made.Request, got.MilliSatoshi, wanted)
			}
		}
	})
	t.Run("signed requests are read by lnd", func(t *testing.T) {
		key, err := btcec.NewPrivateKey()
		if err != nil {
			t.Fatal(err)
		}
		for range randomRequests {
			r := randomRequest(random)
			text, err := r.Sign(key)
			if err != nil {
				t.Fatalf("seed %d: Sign(%+v): %v", seed, r, err)
			}
			r.NodeKey = [33]byte(key.PubKey().SerializeCompressed())
			if diff := cmp.Diff(asDecoded(r), l.decode(t, text)); diff != "" {
				t.Fatalf("seed %d: %s differs (-signed +lnd):\n%s", seed, text, diff)
			}
		}
	})
}

// words are parts of descriptions.
var words = []string{"Shoes", "&", "socks", "größer", "日本", "☕", "\"", "order 1/2", "<b>", "…", "0.5 ₿"}

func randomText(random *rand.Rand, maxBytes int) string {
	text := ""
	for range random.IntN(40) {
		if word := words[random.IntN(len(words))] + " "; len(text)+len(word) <= maxBytes {
			text += word
		}
	}
	return strings.TrimSpace(text)
}

// randomAmount returns an amount in millisatoshi whose last digits are often zero.
func randomAmount(random *rand.Rand) int64 {
	unit := []int64{1, 10, 1000, 100_000, 100_000_000}[random.IntN(5)]
	return (1 + random.Int64N(4_000_000_000)) / unit * unit
}

// randomInvoice returns the content of a call that lets lnd make a request.
func (l lab) randomInvoice(random *rand.Rand) map[string]any {
	content := map[string]any{"private": random.IntN(2) == 0}
	if random.IntN(10) > 0 {
		content["value_msat"] = strconv.FormatInt(randomAmount(random), 10)
	}
	if random.IntN(3) > 0 {
		content["expiry"] = strconv.FormatInt(1+random.Int64N([]int64{60, 3600, 86_400, 31_536_000}[random.IntN(4)]), 10)
	}
	if random.IntN(4) == 0 {
		content["description_hash"] = randomBytes(random)
	} else {
		content["memo"] = randomText(random, 639)
	}
	if random.IntN(2) == 0 {
		content["cltv_expiry"] = strconv.Itoa(18 + random.IntN(500))
	}
	if random.IntN(3) == 0 {
		content["route_hints"] = l.randomHints(random)
	}
	return content
}

// randomHints returns route hints over nodes that exist.
func (l lab) randomHints(random *rand.Rand) (hints []any) {
	for range 1 + random.IntN(3) {
		var hops []any
		for range 1 + random.IntN(3) {
			hops = append(hops, map[string]any{
				"node_id": l.Payer.Key, "chan_id": strconv.FormatUint(random.Uint64()>>1, 10), "fee_base_msat": random.IntN(5000),
				"fee_proportional_millionths": random.IntN(10_000), "cltv_expiry_delta": random.IntN(500),
			})
		}
		hints = append(hints, map[string]any{"hop_hints": hops})
	}
	return hints
}

func randomBytes(random *rand.Rand) []byte {
	data := make([]byte, 32)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	return data
}

// randomRequest returns a request to be signed.
func randomRequest(random *rand.Rand) bolt11.Request {
	r := bolt11.Request{
		Network: "bcrt", Time: time.Unix(1_600_000_000+random.Int64N(400_000_000), 0).UTC(), Expiry: time.Duration(1+random.Int64N(31_536_000)) * time.Second,
		PaymentHash: [32]byte(randomBytes(random)), PaymentSecret: [32]byte(randomBytes(random)), FinalCLTV: uint32(18 + random.IntN(500)), Features: []int{8, 14},
	}
	if random.IntN(10) > 0 {
		r.MilliSatoshi = randomAmount(random)
	}
	if random.IntN(4) == 0 {
		r.DescriptionHash = randomBytes(random)
	} else {
		r.Description = randomText(random, 639)
	}
	if random.IntN(2) == 0 {
		r.Features = append(slices.Clone(r.Features), 17)
	}
	return r
}
