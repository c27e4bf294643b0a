import hashlib, hmac, os
from urllib.parse import quote

parameters = {
    "amount": "56.50", "fiat_currency": "EUR", "order_id": "1042", "description": "Two prints (A4) & a frame",
    "url_success": "https://shop.example/thanks?order=1042", "key": os.environ["CHEQUER_API_KEY"],
}
query = "&".join(f"{name}={quote(value, safe='')}" for name, value in sorted(parameters.items()))
sig = hmac.new(os.environ["CHEQUER_API_SECRET"].encode(), f"chequer-link-v1\n{query}".encode(), hashlib.sha512).hexdigest()
print(f"{os.environ['CHEQUER_BASE_URL']}/pay?{query}&sig={sig}")
