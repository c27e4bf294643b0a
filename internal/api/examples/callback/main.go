// Command callback receives webhooks and accepts only those that Chequer signed. Run it with
// go run main.go.
package main

import (
	"crypto/hmac"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	http.HandleFunc("POST /chequer", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil || !genuine(r.Header, body) {
			http.Error(w, "not from Chequer", http.StatusForbidden)
			return
		}
		// Record the id, so that a repeated event counts once; then act.
		fmt.Printf("%s\n", body)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}

// genuine reports whether Chequer signed these bytes within the last five minutes.
func genuine(h http.Header, body []byte) bool {
	timestamp := h.Get("X-Processing-Timestamp")
	sent, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Since(time.Unix(sent, 0)).Abs() > 5*time.Minute {
		return false
	}
	mac := hmac.New(sha512.New, []byte(os.Getenv("WEBHOOK_SECRET")))
	fmt.Fprintf(mac, "chequer-event-v1\n%s\n%s\n%x", timestamp, h.Get("X-Processing-Event-Id"), sha512.Sum512(body))
	expected := hex.EncodeToString(mac.Sum(nil))
	// There are two signatures while the endpoint's keys are being rotated.
	return slices.ContainsFunc(strings.Split(h.Get("X-Processing-Signature-V2"), ","), func(signature string) bool {
		return hmac.Equal([]byte(signature), []byte(expected))
	})
}
