#!/bin/sh
# Verifies a webhook by its body and three of its headers. Run it with
# sh callback.sh TIMESTAMP EVENT_ID SIGNATURE_V2 <body.json
set -eu
HASH=$(openssl dgst -sha512 -r | cut -d' ' -f1)
EXPECTED=$(printf 'chequer-event-v1\n%s\n%s\n%s' "$1" "$2" "$HASH" |
  openssl dgst -sha512 -hmac "$WEBHOOK_SECRET" -r | cut -d' ' -f1)
AGE=$(($(date +%s) - $1))
case ",$3," in
*",$EXPECTED,"*) [ "${AGE#-}" -le 300 ] && echo genuine ;;
*) echo forged >&2 && exit 1 ;;
esac
