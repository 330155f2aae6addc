import { RudderAnalytics } from '@rudderstack/analytics-js/bundled';

globalThis.send = (host, key) => {
  const client = new RudderAnalytics();
  client.load(key, host, { configUrl: host });
  client.page('Home', { sent: 1 });
  client.track('bought', { sent: 'Zürich 😀' });
  client.identify('ada', { name: 'Ada' });
  client.group('acme', { size: 3 });
  client.track('left', { sent: 2 });
};
