import { createHmac } from "node:crypto";

const { CHEQUER_BASE_URL, CHEQUER_API_KEY, CHEQUER_API_SECRET } = process.env;
const parameters = {
  amount: "56.50", fiat_currency: "EUR", order_id: "1042", description: "Two prints (A4) & a frame",
  url_success: "https://shop.example/thanks?order=1042", key: CHEQUER_API_KEY,
};
const encode = (text) => encodeURIComponent(text).replace(/[!'()*]/g, (c) => "%" + c.charCodeAt().toString(16).toUpperCase());
const query = Object.keys(parameters).sort().map((name) => name + "=" + encode(parameters[name])).join("&");
const sig = createHmac("sha512", CHEQUER_API_SECRET).update("chequer-link-v1\n" + query).digest("hex");
console.log(`${CHEQUER_BASE_URL}/pay?${query}&sig=${sig}`);
