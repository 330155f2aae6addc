import Client from 'posthog-js-lite';

const load = (host, key) => new Client(key, { host });
globalThis.load = (host, key) => void load(host, key);
globalThis.send = async (host, key) => {
  const client = load(host, key);
  client.capture('bought', { sent: 'Zürich 😀' });
  client.identify('ada', { name: 'Ada' });
  client.capture('left', { sent: 2 });
  await client.flush();
};
