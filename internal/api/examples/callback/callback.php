<?php
// Receives webhooks and accepts only those that Chequer signed. Run it with php -S 127.0.0.1:$PORT callback.php.

// genuine reports whether Chequer signed these bytes within the last five minutes.
function genuine(array $headers, string $body): bool
{
    $timestamp = $headers['HTTP_X_PROCESSING_TIMESTAMP'] ?? '';
    if (!ctype_digit($timestamp) || abs(time() - (int) $timestamp) > 300) {
        return false;
    }
    $message = implode("\n", [
        'chequer-event-v1', $timestamp, $headers['HTTP_X_PROCESSING_EVENT_ID'] ?? '', hash('sha512', $body),
    ]);
    $expected = hash_hmac('sha512', $message, getenv('WEBHOOK_SECRET'));
    // There are two signatures while the endpoint's keys are being rotated.
    foreach (explode(',', $headers['HTTP_X_PROCESSING_SIGNATURE_V2'] ?? '') as $given) {
        if (hash_equals($expected, $given)) {
            return true;
        }
    }
    return false;
}

$body = file_get_contents('php://input');
if (!genuine($_SERVER, $body)) {
    http_response_code(403);
    exit;
}
// Record the id, so that a repeated event counts once; then act.
error_log(json_decode($body)->type);
