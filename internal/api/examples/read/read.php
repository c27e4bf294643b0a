<?php
// Reads an invoice. Run it with php read.php FOREIGN_ID.

// sign returns the headers of a request with a request signature.
function sign(string $method, string $url, string $body = '', string $idempotencyKey = ''): array
{
    $timestamp = (string) time();
    $nonce = bin2hex(random_bytes(16));
    $target = preg_replace('|^https?://[^/]*|', '', $url);
    $message = implode("\n", [
        'chequer-v1', $timestamp, $nonce, $method, $target, $idempotencyKey, hash('sha512', $body),
    ]);
    return [
        'X-Processing-Key: ' . getenv('CHEQUER_API_KEY'),
        'X-Processing-Timestamp: ' . $timestamp,
        'X-Processing-Nonce: ' . $nonce,
        'X-Processing-Signature: ' . hash_hmac('sha512', $message, getenv('CHEQUER_API_SECRET')),
    ];
}

$url = getenv('CHEQUER_BASE_URL') . '/api/v2/invoices/' . $argv[1];
echo file_get_contents($url, false, stream_context_create(['http' => [
    'header' => sign('GET', $url),
    'ignore_errors' => true, // print the body of an error, too
]])), "\n";
exit(str_contains($http_response_header[0] ?? '', ' 200') ? 0 : 1);
