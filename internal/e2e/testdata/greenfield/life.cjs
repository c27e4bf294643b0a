// The whole life of invoices of a shop, with the published client of the API: connect, webhook, create, part, paid, over,
// late, declined, uninstall. It prints one line for each step. NODE_PATH names the folder of the client.
const { ApiKeysService, InvoicesService, OpenAPI, PullPaymentsManagementService, ServerInfoService, StoresService, WebhooksService } = require('btcpay-greenfield-node-client');

OpenAPI.BASE = process.env.SERVER;
OpenAPI.TOKEN = process.env.TOKEN;

const say = (step, ...facts) => console.log([step, ...facts].join(' '));

// simulate carries out an action of a shopper or a miner on the test network.
async function simulate(id, action) {
  const answer = await fetch(`${OpenAPI.BASE}/invoice/${id}/simulate`, { method: 'POST', body: new URLSearchParams({ action, method: 'BTC' }), redirect: 'manual' });
  if (answer.status !== 303) throw new Error(`simulate ${action}: ${answer.status}`);
}

async function life() {
  const key = await ApiKeysService.getApiKeysService();
  const storeId = key.permissions[0].split(':')[1];
  say('connected', storeId, key.apiKey === OpenAPI.TOKEN);
  const info = await ServerInfoService.serverInfoGetServerInfo();
  say('server', info.version, info.fullySynched);
  const stores = await StoresService.storesGetStores();
  const store = await StoresService.storesGetStore({ storeId });
  say('stores', stores.length, stores[0].id === store.id);

  const hook = await WebhooksService.postWebhooksService({
    storeId, requestBody: { url: process.env.RECEIVER, enabled: true, automaticRedelivery: true, authorizedEvents: { everything: true, specificEvents: [] }, secret: process.env.SECRET },
  });
  say('webhook', hook.secret === process.env.SECRET, (await WebhooksService.webhokksGetWebhooks({ storeId })).length);

  const create = (orderId) => InvoicesService.invoicesCreateInvoice({
    storeId, requestBody: { amount: '12.50000000', currency: 'EUR', metadata: { orderId, itemDesc: 'Soap' }, checkout: { redirectURL: 'https://shop.example/?i={InvoiceId}', paymentMethods: ['BTC_CHAIN'] } },
  });
  const read = (invoiceId) => InvoicesService.invoicesGetInvoice({ storeId, invoiceId });
  const status = async (step, id) => { const i = await read(id); say(step, i.status, i.additionalStatus); };

  const paid = await create(4711);
  say('created', paid.amount, paid.metadata.orderId, paid.checkoutLink.endsWith(`/i/${paid.id}`), paid.checkout.redirectURL.endsWith(paid.id));
  await simulate(paid.id, 'under');
  await status('part', paid.id);
  await simulate(paid.id, 'exact');
  await status('seen', paid.id);
  await simulate(paid.id, 'confirm');
  await status('paid', paid.id);
  const methods = await InvoicesService.invoicesGetInvoicePaymentMethods({ storeId, invoiceId: paid.id });
  say('methods', methods.length, methods[0].paymentMethod, methods[0].payments.length, methods[0].payments.map((p) => p.status).join('+'));

  const refund = await PullPaymentsManagementService.pullPaymentsCreatePullPayment({
    storeId, requestBody: { name: 'Refund of order 4711; broken', amount: '5.00', currency: 'EUR', paymentMethods: ['BTC'] },
  });
  say('refund', typeof refund.id, refund.viewLink === paid.checkoutLink, refund.currency);

  const over = await create('A-2');
  await simulate(over.id, 'over');
  await simulate(over.id, 'confirm');
  await status('over', over.id);

  const late = await create('A-3');
  await simulate(late.id, 'late');
  await simulate(late.id, 'confirm');
  await status('late', late.id);

  const declined = await create('A-4');
  await InvoicesService.invoicesMarkInvoiceStatus({ storeId, invoiceId: declined.id, requestBody: { status: 'Invalid' } });
  await status('declined', declined.id);
  const changed = await InvoicesService.invoicesUpdateInvoice({ storeId, invoiceId: declined.id, requestBody: { metadata: { orderId: 'A-4', note: 'x' } } });
  say('changed', changed.metadata.note);
  await InvoicesService.invoicesArchiveInvoice({ storeId, invoiceId: declined.id });
  say('listed', (await InvoicesService.invoicesGetInvoices({ storeId })).length);

  for (const [step, call] of [['foreign', () => StoresService.storesGetStore({ storeId: 'm_other' })], ['unknown', () => read('x'.repeat(32))]]) {
    try { await call(); say(step, 'no error'); } catch (e) { say(step, e.status, e.body.code); }
  }
  process.stdin.resume(); // the test ends this when it has received the messages
  await new Promise((end) => process.stdin.on('end', end));
  await WebhooksService.deleteWebhooksService({ storeId, webhookId: hook.id });
  say('uninstalled', (await WebhooksService.webhokksGetWebhooks({ storeId })).length);
}

life().catch((e) => { console.log('error', e.status, JSON.stringify(e.body), e.stack); process.exit(1); });
