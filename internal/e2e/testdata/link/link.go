package main

import (
	"crypto/hmac"
	"crypto/sha512"
	"fmt"
	"net/url"
	"os"
	"strings"
)

func main() {
	parameters := url.Values{
		"amount": {"56.50"}, "fiat_currency": {"EUR"}, "order_id": {"1042"}, "description": {"Two prints (A4) & a frame"},
		"url_success": {"https://shop.example/thanks?order=1042"}, "key": {os.Getenv("CHEQUER_API_KEY")},
	}
	query := strings.ReplaceAll(parameters.Encode(), "+", "%20") // Encode sorts by name
	mac := hmac.New(sha512.New, []byte(os.Getenv("CHEQUER_API_SECRET")))
	mac.Write([]byte("chequer-link-v1\n" + query))
	fmt.Printf("%s/pay?%s&sig=%x\n", os.Getenv("CHEQUER_BASE_URL"), query, mac.Sum(nil))
}
