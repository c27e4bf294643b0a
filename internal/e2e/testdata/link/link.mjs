import { createHmac } from "node:crypto";

const { BASE, KEY, SECRET } = process.env;
const parameters = {
  amount: "56.50", fiat_currency: "EUR", order_id: "1042", description: "Two prints (A4) & a frame",
  url_success: "https://shop.example/thanks?order=1042", key: KEY,
};
const encode = (text) => encodeURIComponent(text).replace(/[!'()*]/g, (c) => "%" + c.charCodeAt().toString(16).toUpperCase());
const query = Object.keys(parameters).sort().map((name) => name + "=" + encode(parameters[name])).join("&");
const sig = createHmac("sha512", SECRET).update("chequer-link-v1\n" + query).digest("hex");
console.log(`${BASE}/pay?${query}&sig=${sig}`);
