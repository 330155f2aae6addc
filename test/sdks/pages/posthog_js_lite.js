import Client from 'posthog-js-lite';

globalThis.send = async (host, key) => {
  const client = new Client(key, { host });
  client.capture('bought', { sent: 'Zürich 😀' });
  client.identify('ada', { name: 'Ada' });
  client.capture('left', { sent: 2 });
  await client.flush();
};
