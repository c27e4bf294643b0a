// Command create creates an invoice of 56.50 EUR. Run it with go run main.go.
package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha512"
	"encoding/hex"
	"io"
	"log"
	"net/http"
	"os"
)

func main() {
	body := []byte(`{"amount":56.5,"fiat_currency":"EUR","order_id":"1042"}`)
	mac := hmac.New(sha512.New, []byte(os.Getenv("CHEQUER_API_SECRET")))
	mac.Write(body)

	request, err := http.NewRequest("POST", os.Getenv("CHEQUER_BASE_URL")+"/api/v2/invoice/new", bytes.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Processing-Key", os.Getenv("CHEQUER_API_KEY"))
	request.Header.Set("X-Processing-Signature", hex.EncodeToString(mac.Sum(nil)))
	request.Header.Set("Idempotency-Key", "order-1042")

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
