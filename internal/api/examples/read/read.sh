#!/bin/sh
# Reads an invoice. Run it with sh read.sh FOREIGN_ID.
set -eu
HOST=$(printf %s "$CHEQUER_BASE_URL" | sed -E 's|^(https?://[^/]*).*|\1|')
TARGET="${CHEQUER_BASE_URL#"$HOST"}/api/v2/invoices/$1" # includes the path of the base URL
TIMESTAMP=$(date +%s)
NONCE=$(openssl rand -hex 16)
HASH=$(printf '' | openssl dgst -sha512 -r | cut -d' ' -f1) # hash of the empty body
SIGNATURE=$(printf 'chequer-v1\n%s\n%s\nGET\n%s\n\n%s' "$TIMESTAMP" "$NONCE" "$TARGET" "$HASH" |
  openssl dgst -sha512 -hmac "$CHEQUER_API_SECRET" -r | cut -d' ' -f1)
curl -sS --fail-with-body "$HOST$TARGET" \
  -H "X-Processing-Key: $CHEQUER_API_KEY" \
  -H "X-Processing-Timestamp: $TIMESTAMP" \
  -H "X-Processing-Nonce: $NONCE" \
  -H "X-Processing-Signature: $SIGNATURE"
