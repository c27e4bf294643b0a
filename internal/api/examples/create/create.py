# Creates an invoice of 56.50 EUR. Run it with python3 create.py.
import hashlib, hmac, json, os, sys, urllib.error, urllib.request

body = json.dumps({"amount": 56.5, "fiat_currency": "EUR", "order_id": "1042"}).encode()
secret = os.environ["CHEQUER_API_SECRET"].encode()

request = urllib.request.Request(os.environ["CHEQUER_BASE_URL"] + "/api/v2/invoice/new", data=body, headers={
    "Content-Type": "application/json",
    "X-Processing-Key": os.environ["CHEQUER_API_KEY"],
    "X-Processing-Signature": hmac.new(secret, body, hashlib.sha512).hexdigest(),
    "Idempotency-Key": "order-1042",
})
try:
    with urllib.request.urlopen(request) as response:
        print(response.read().decode())
except urllib.error.HTTPError as error:
    print(error.read().decode())
    sys.exit(f"{error.code} {error.headers['X-Error-Code']}")
