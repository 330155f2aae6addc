import { RudderAnalytics } from '@rudderstack/analytics-js/bundled';

const load = (host, key) => {
  const client = new RudderAnalytics();
  client.load(key, host, { configUrl: host });
  return client;
};
globalThis.load = (host, key) => void load(host, key);
globalThis.send = (host, key) => {
  const client = load(host, key);
  client.page('Home', { sent: 1 });
  client.track('bought', { sent: 'Zürich 😀' });
  client.identify('ada', { name: 'Ada' });
  client.group('acme', { size: 3 });
  client.track('left', { sent: 2 });
};
