import { AnalyticsBrowser } from '@segment/analytics-next';

const load = (host, key) => AnalyticsBrowser.load({ writeKey: key, cdnURL: host });
globalThis.load = async (host, key) => void (await load(host, key));
globalThis.send = async (host, key) => {
  const client = load(host, key);
  await client.page('Home', { sent: 1 });
  await client.track('bought', { sent: 'Zürich 😀' });
  await client.identify('ada', { name: 'Ada' });
  await client.group('acme', { size: 3 });
  await client.track('left', { sent: 2 });
};
