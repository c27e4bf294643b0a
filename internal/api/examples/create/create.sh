#!/bin/sh
# Creates an invoice of 56.50 EUR. Run it with sh create.sh.
set -eu
BODY='{"amount":56.5,"fiat_currency":"EUR","order_id":"1042"}'
SIGNATURE=$(printf %s "$BODY" | openssl dgst -sha512 -hmac "$CHEQUER_API_SECRET" -r | cut -d' ' -f1)
curl -sS --fail-with-body "$CHEQUER_BASE_URL/api/v2/invoice/new" \
  -H "Content-Type: application/json" \
  -H "X-Processing-Key: $CHEQUER_API_KEY" \
  -H "X-Processing-Signature: $SIGNATURE" \
  -H "Idempotency-Key: order-1042" \
  -d "$BODY"
