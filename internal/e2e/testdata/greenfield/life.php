<?php

// The same life of invoices as in life.cjs, in the manner of the PHP library that shop plug-ins use: strict types, only the
// status 200 is a success, redirects are not followed, no User-Agent, amounts by bcmath.

declare(strict_types=1);

final class Failure extends RuntimeException
{
    public function __construct(public readonly int $status, public readonly string $body)
    {
        parent::__construct("status $status: $body");
    }
}

function request(string $method, string $path, ?array $body = null): string
{
    $curl = curl_init();
    $headers = ['Authorization: token ' . getenv('TOKEN'), 'Content-Type: application/json'];
    curl_setopt_array($curl, [
        CURLOPT_URL => getenv('SERVER') . '/api/v1/' . $path, // with a base address that ends with a slash, "//" follows
        CURLOPT_CUSTOMREQUEST => $method, CURLOPT_HTTPHEADER => $headers, CURLOPT_RETURNTRANSFER => true, CURLOPT_FOLLOWLOCATION => false,
    ]);
    if ($body !== null) {
        curl_setopt($curl, CURLOPT_POSTFIELDS, json_encode($body, JSON_THROW_ON_ERROR));
    }
    $answer = (string) curl_exec($curl);
    $status = (int) curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
    if ($status !== 200) {
        throw new Failure($status, $answer);
    }
    return $answer;
}

function call(string $method, string $path, ?array $body = null): array
{
    return json_decode(request($method, $path, $body), true, 512, JSON_THROW_ON_ERROR);
}

// Getters with the types of the library.
function text(array $data, string $name): string
{
    return $data[$name];
}

function seconds(array $data, string $name): int
{
    return $data[$name];
}

function flag(array $data, string $name): bool
{
    return $data[$name];
}

function say(string ...$facts): void
{
    echo implode(' ', $facts), "\n";
}

function yes(bool $fact): string
{
    return $fact ? 'true' : 'false';
}

function simulate(string $id, string $action): void
{
    $curl = curl_init(getenv('SERVER') . "/invoice/$id/simulate");
    curl_setopt_array($curl, [CURLOPT_POSTFIELDS => http_build_query(['action' => $action, 'method' => 'BTC']), CURLOPT_RETURNTRANSFER => true]);
    curl_exec($curl);
    if (curl_getinfo($curl, CURLINFO_RESPONSE_CODE) !== 303) {
        throw new RuntimeException("simulate $action");
    }
}

function create(string $store, int|string $order): array
{
    $amount = bcadd('12.5', '0', 8); // with more decimals than the currency has
    return call('POST', "stores/$store/invoices", [
        'amount' => $amount, 'currency' => 'EUR', 'metadata' => ['orderId' => $order, 'itemDesc' => mb_strtoupper('soap')],
        'checkout' => [
            'speedPolicy' => null, 'paymentMethods' => ['BTC_CHAIN'], 'expirationMinutes' => null, 'monitoringMinutes' => null, 'paymentTolerance' => null,
            'redirectURL' => 'https://shop.example/?i={InvoiceId}', 'redirectAutomatically' => true, 'defaultLanguage' => 'de-DE',
        ],
    ]);
}

function status(string $step, string $store, string $id): void
{
    $invoice = call('GET', "stores/$store/invoices/$id");
    seconds($invoice, 'createdTime') < seconds($invoice, 'expirationTime') || throw new RuntimeException('times');
    seconds($invoice, 'monitoringExpiration');
    array_is_list($invoice['availableStatusesForManualMarking']) || throw new RuntimeException('statuses');
    say($step, text($invoice, 'status'), text($invoice, 'additionalStatus'));
}

function life(): void
{
    $key = call('GET', 'api-keys/current');
    $store = explode(':', $key['permissions'][0])[1];
    say('connected', $store, yes(text($key, 'apiKey') === getenv('TOKEN')));
    $info = call('GET', 'server/info');
    say('server', text($info, 'version'), yes(flag($info, 'fullySynched')));
    $stores = call('GET', '/stores');
    say('stores', (string) count($stores), yes(text($stores[0], 'id') === text(call('GET', "stores/$store"), 'id')));

    $hook = call('POST', "stores/$store/webhooks", [
        'url' => getenv('RECEIVER'), 'enabled' => true, 'automaticRedelivery' => true, 'authorizedEvents' => ['everything' => true, 'specificEvents' => null], 'secret' => getenv('SECRET'),
    ]);
    say('webhook', yes(text($hook, 'secret') === getenv('SECRET')), (string) count(call('GET', "stores/$store/webhooks")));

    $paid = create($store, 4711);
    $id = text($paid, 'id');
    say('created', text($paid, 'amount'), (string) $paid['metadata']['orderId'], yes(str_ends_with(text($paid, 'checkoutLink'), "/i/$id")), yes(str_ends_with(text($paid['checkout'], 'redirectURL'), $id)));
    simulate($id, 'under');
    status('part', $store, $id);
    simulate($id, 'exact');
    status('seen', $store, $id);
    simulate($id, 'confirm');
    status('paid', $store, $id);
    $methods = call('GET', "stores/$store/invoices/$id/payment-methods");
    $sum = '0';
    foreach ($methods[0]['payments'] as $payment) {
        seconds($payment, 'receivedDate');
        $sum = bcadd($sum, bcmul(text($payment, 'value'), text($methods[0], 'rate'), 12), 12);
    }
    bccomp($sum, '12.49', 2) >= 0 || throw new RuntimeException("the payments are worth $sum");
    say('methods', (string) count($methods), text($methods[0], 'paymentMethod'), (string) count($methods[0]['payments']), implode('+', array_column($methods[0]['payments'], 'status')));

    $refund = call('POST', "stores/$store/pull-payments", [
        'name' => 'Refund of order 4711; broken', 'description' => null, 'amount' => '5.00', 'currency' => 'EUR', 'period' => null, 'BOLT11Expiration' => null,
        'autoApproveClaims' => false, 'startsAt' => null, 'expiresAt' => null, 'paymentMethods' => ['BTC_CHAIN'], 'payoutMethods' => ['BTC_CHAIN'],
    ]);
    say('refund', gettype(text($refund, 'id')), yes(text($refund, 'viewLink') === text($paid, 'checkoutLink')), text($refund, 'currency'));

    foreach (['over' => ['A-2', 'over'], 'late' => ['A-3', 'late']] as $step => [$order, $action]) {
        $id = text(create($store, $order), 'id');
        simulate($id, $action);
        simulate($id, 'confirm');
        status($step, $store, $id);
    }

    $id = text(create($store, 'A-4'), 'id');
    call('POST', "stores/$store/invoices/$id/status", ['status' => 'Invalid']);
    status('declined', $store, $id);
    say('changed', text(call('PUT', "stores/$store/invoices/$id", ['metadata' => ['orderId' => 'A-4', 'note' => 'x']])['metadata'], 'note'));
    request('DELETE', "stores/$store/invoices/$id");
    say('listed', (string) count(call('GET', "stores/$store/invoices")));

    foreach (['foreign' => 'stores/m_other', 'unknown' => "stores/$store/invoices/" . str_repeat('x', 32)] as $step => $path) {
        try {
            call('GET', $path);
            say($step, 'no error');
        } catch (Failure $e) {
            say($step, (string) $e->status, json_decode($e->body, true)['code']);
        }
    }
    while (fgets(STDIN) !== false) { // the test ends this when it has received the messages
    }
    request('DELETE', "stores/$store/webhooks/" . text($hook, 'id'));
    say('uninstalled', (string) count(call('GET', "stores/$store/webhooks")));
}

life();
