// Creates an invoice of 56.50 EUR. Run it with node create.mjs.
import { createHmac } from "node:crypto";

const { CHEQUER_BASE_URL, CHEQUER_API_KEY, CHEQUER_API_SECRET } = process.env;
const body = JSON.stringify({ amount: 56.5, fiat_currency: "EUR", order_id: "1042" });

const response = await fetch(CHEQUER_BASE_URL + "/api/v2/invoice/new", {
  method: "POST",
  headers: {
    "Content-Type": "application/json",
    "X-Processing-Key": CHEQUER_API_KEY,
    "X-Processing-Signature": createHmac("sha512", CHEQUER_API_SECRET).update(body).digest("hex"),
    "Idempotency-Key": "order-1042",
  },
  body,
});
console.log(await response.text());
if (!response.ok) {
  console.error(response.status, response.headers.get("X-Error-Code"));
  process.exitCode = 1;
}
