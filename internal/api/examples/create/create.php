<?php
// Creates an invoice of 56.50 EUR. Run it with php create.php.
$body = json_encode(['amount' => 56.5, 'fiat_currency' => 'EUR', 'order_id' => '1042']);

$response = file_get_contents(getenv('CHEQUER_BASE_URL') . '/api/v2/invoice/new', false, stream_context_create(['http' => [
    'method' => 'POST',
    'header' => [
        'Content-Type: application/json',
        'X-Processing-Key: ' . getenv('CHEQUER_API_KEY'),
        'X-Processing-Signature: ' . hash_hmac('sha512', $body, getenv('CHEQUER_API_SECRET')),
        'Idempotency-Key: order-1042',
    ],
    'content' => $body,
    'ignore_errors' => true, // print the body of an error, too
]]));
echo $response, "\n";
exit(str_contains($http_response_header[0] ?? '', ' 200') ? 0 : 1);
