# Reads an invoice. Run it with python3 read.py FOREIGN_ID.
import hashlib, hmac, os, secrets, sys, time, urllib.error, urllib.request


def sign(request, body=b"", idempotency_key=""):
    """Adds a request signature to a request."""
    timestamp, nonce = str(int(time.time())), secrets.token_hex(16)
    message = "\n".join([
        "chequer-v1", timestamp, nonce, request.get_method(), request.selector,
        idempotency_key, hashlib.sha512(body).hexdigest(),
    ])
    signature = hmac.new(os.environ["CHEQUER_API_SECRET"].encode(), message.encode(), hashlib.sha512).hexdigest()
    request.add_header("X-Processing-Key", os.environ["CHEQUER_API_KEY"])
    request.add_header("X-Processing-Timestamp", timestamp)
    request.add_header("X-Processing-Nonce", nonce)
    request.add_header("X-Processing-Signature", signature)


request = urllib.request.Request(os.environ["CHEQUER_BASE_URL"] + "/api/v2/invoices/" + sys.argv[1])
sign(request)
try:
    with urllib.request.urlopen(request) as response:
        print(response.read().decode())
except urllib.error.HTTPError as error:
    print(error.read().decode())
    sys.exit(f"{error.code} {error.headers['X-Error-Code']}")
