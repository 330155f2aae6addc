import client from 'posthog-js';

globalThis.load = (api_host, key) =>
  void client.init(key, {
    api_host,
    autocapture: false,
    capture_pageleave: false,
    capture_pageview: false,
    opt_out_useragent_filter: true,
  });
globalThis.send = (api_host, key) => {
  globalThis.load(api_host, key);
  client.capture('$pageview');
  client.capture('bought', { sent: 'Zürich 😀' });
  client.identify('ada', { name: 'Ada' });
  client.group('company', 'acme', { size: 3 });
  client.capture('left', { sent: 2 }, { transport: 'sendBeacon', send_instantly: true });
};
