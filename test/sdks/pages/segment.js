import { AnalyticsBrowser } from '@segment/analytics-next';

globalThis.send = async (host, key) => {
  const client = AnalyticsBrowser.load({ writeKey: key, cdnURL: host });
  await client.page('Home', { sent: 1 });
  await client.track('bought', { sent: 'Zürich 😀' });
  await client.identify('ada', { name: 'Ada' });
  await client.group('acme', { size: 3 });
  await client.track('left', { sent: 2 });
};
