// Command read reads an invoice. Run it with go run main.go FOREIGN_ID.
package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	request, err := http.NewRequest("GET", os.Getenv("CHEQUER_BASE_URL")+"/api/v2/invoices/"+os.Args[1], nil)
	if err != nil {
		log.Fatal(err)
	}
	sign(request, nil)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	io.Copy(os.Stdout, response.Body)
	if response.StatusCode != http.StatusOK {
		log.Fatal(response.Status, " ", response.Header.Get("X-Error-Code"))
	}
}

// sign adds a request signature to a request.
func sign(r *http.Request, body []byte) {
	timestamp, nonce := strconv.FormatInt(time.Now().Unix(), 10), rand.Text()
	mac := hmac.New(sha512.New, []byte(os.Getenv("CHEQUER_API_SECRET")))
	mac.Write([]byte(strings.Join([]string{
		"chequer-v1", timestamp, nonce, r.Method, r.URL.RequestURI(),
		r.Header.Get("Idempotency-Key"), fmt.Sprintf("%x", sha512.Sum512(body)),
	}, "\n")))
	r.Header.Set("X-Processing-Key", os.Getenv("CHEQUER_API_KEY"))
	r.Header.Set("X-Processing-Timestamp", timestamp)
	r.Header.Set("X-Processing-Nonce", nonce)
	r.Header.Set("X-Processing-Signature", hex.EncodeToString(mac.Sum(nil)))
}
