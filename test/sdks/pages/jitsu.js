import { jitsuAnalytics } from '@jitsu/js';

const load = (host, key) => jitsuAnalytics({ host, writeKey: `${key}:public` });
globalThis.load = (host, key) => void load(host, key);
globalThis.send = async (host, key) => {
  const client = load(host, key);
  await client.page({ sent: 1 });
  await client.track('bought', { sent: 'Zürich 😀' });
  await client.identify('ada', { name: 'Ada' });
  await client.group('acme', { size: 3 });
  await client.track('left', { sent: 2 });
};
