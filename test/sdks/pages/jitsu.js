import { jitsuAnalytics } from '@jitsu/js';

globalThis.send = async (host, key) => {
  const client = jitsuAnalytics({ host, writeKey: `${key}:public` });
  await client.page({ sent: 1 });
  await client.track('bought', { sent: 'Zürich 😀' });
  await client.identify('ada', { name: 'Ada' });
  await client.group('acme', { size: 3 });
  await client.track('left', { sent: 2 });
};
