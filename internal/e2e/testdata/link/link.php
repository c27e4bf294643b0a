<?php
$parameters = [
    'amount' => '56.50', 'fiat_currency' => 'EUR', 'order_id' => '1042', 'description' => 'Two prints (A4) & a frame',
    'url_success' => 'https://shop.example/thanks?order=1042', 'key' => getenv('CHEQUER_API_KEY'),
];
ksort($parameters);
$query = http_build_query($parameters, '', '&', PHP_QUERY_RFC3986);
$sig = hash_hmac('sha512', "chequer-link-v1\n$query", getenv('CHEQUER_API_SECRET'));
echo getenv('CHEQUER_BASE_URL'), "/pay?$query&sig=$sig\n";
