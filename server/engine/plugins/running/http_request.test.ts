import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { logLines, sendEvents } from '../../../../test/factories/plugins/running_plugins.ts';
import {
  home,
  openAroundTests,
  run,
  soon,
  stopAll,
} from '../../../../test/factories/plugins/plugin_runs.ts';
import { listenLocally } from '../../../../test/servers/loopback.ts';

openAroundTests();

type Got = { url: string; headers: Record<string, unknown>; body: string };
let got: Got[] = [];
let answer: (body: string) => [status: number, headers?: Record<string, string>] = () => [200];
let receiver: { url: string; close(): Promise<void> };
before(async () => {
  const { port, close } = await listenLocally(
    createServer(async (request, response) => {
      const body = await text(request);
      const { url = '', headers } = request;
      const [status, more] = answer(body);
      if (status === 200) got.push({ url, headers, body });
      response.writeHead(status, more).end('said so');
    }),
  );
  receiver = { url: `http://127.0.0.1:${port}`, close };
});
after(() => receiver.close());

const collection = () => `/api/organizations/${home.organization.id}/pipeline_destinations/`;
const signing_secret = 'a-signing-secret';

/** Installs the tool and switches it on; gives the config's address. */
async function httpRequest(mapping: object, more: object = {}, config: object = {}) {
  got = [];
  answer = () => [200];
  const installed = await home.ask('POST', collection(), {
    plugin_type: 'repository',
    name: 'HTTP request',
  });
  assert.equal(installed.status, 201, installed.text);
  const list = `/api/projects/${home.project.id}/plugin_configs/`;
  const one = {
    name: 'Send',
    partnerAction: 'send',
    subscribe: 'type = "track"',
    ...more,
    mapping,
  };
  const created = await home.ask('POST', list, {
    plugin: installed.body.id,
    enabled: true,
    config: { mappings: JSON.stringify([one]), ...config },
    allowed_hosts: ['127.0.0.1'],
  });
  assert.equal(created.status, 201, created.text);
  return `${list}${created.body.id}/`;
}

const whole = () => ({
  url: { '@template': `${receiver.url}/{{secret}}/{{userId}}` },
  method: 'PUT',
  format: 'json',
  body: { number: { '@path': '$.properties.number' } },
  idempotency_key: { '@path': '$.messageId' },
});

test('Each event is a signed request with its key, and secrets stay out of the log', async () => {
  const secrets = { secret: 'hidden/token', signing_secret };
  const url = await httpRequest(whole(), {}, secrets);
  await sendEvents(home, 20);
  run();
  await soon('twenty requests', async () => (got.length === 20 ? true : undefined));
  await stopAll();
  const keys = new Set(got.map(({ headers }) => headers['idempotency-key']));
  assert.equal(keys.size, 20);
  for (const { url: path, headers, body } of got) {
    assert.match(path, /^\/hidden\/token\/person-\d$/);
    assert.equal(headers['content-type'], 'application/json');
    const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
    const wanted = createHmac('sha256', signing_secret).update(signed).digest('base64');
    assert.equal(headers['webhook-signature'], `v1,${wanted}`);
    assert.equal(headers['webhook-id'], headers['idempotency-key']);
  }
  assert.deepEqual((await home.ask('GET', url)).body.secret_keys.toSorted(), [
    'secret',
    'signing_secret',
  ]);
  assert.doesNotMatch((await logLines(home, url)).join('\n'), /hidden/);
});

test('A refusal is set aside with the answer, and a sample takes few persons', async () => {
  const url = await httpRequest(whole(), { sample_percent: 100 }, { secret: 'x' });
  answer = (body) => (body === '{"number":3}' ? [422] : [200]);
  await sendEvents(home, 9);
  run();
  const row = await soon('the refused event', async () => {
    const { body } = await home.ask('GET', `${url}set_aside/`);
    return body.count === 1 ? body.results[0] : undefined;
  });
  assert.equal(row.status, 422);
  assert.equal(row.reason, 'The receiver refused it (422): said so');
  await soon('the others', async () => (got.length === 8 ? true : undefined));
});

test('Retry-After is obeyed, and the events wait', async () => {
  const url = await httpRequest(whole(), {}, { secret: 'x' });
  answer = () => [429, { 'retry-after': '3000' }];
  await sendEvents(home, 1);
  run();
  const { retry_at } = await soon('the pause', async () => {
    const { body } = await home.ask('GET', `${url}delivery/`);
    return body.retry_at === null ? undefined : body;
  });
  assert.ok(Date.parse(retry_at) - Date.now() > 2_000_000, retry_at);
});

test('A mapping that can send nothing is refused when it is saved', async () => {
  const url = await httpRequest(whole());
  const one = { name: 'Send', partnerAction: 'send', mapping: whole() };
  const save = async (more: object) => {
    const mappings = JSON.stringify([{ ...one, subscribe: 'type = "track"', ...more }]);
    const { status, body } = await home.ask('PATCH', url, { config: { mappings } });
    return [status, body.attr, body.detail];
  };
  assert.deepEqual(await save({ subscribe: 'type = "page" and event = "x"' }), [
    400,
    'config__mappings',
    'Mapping 1: The filter matches no event: events of the type page have no event. The type of ' +
      'those that have it is track.',
  ]);
  const [status, attr, detail] = await save({ sample_percent: 0 });
  assert.deepEqual([status, attr], [400, 'config__mappings']);
  assert.match(detail, /above 0 and up to 100 as sample_percent/);
  assert.match((await save({ consent: '' }))[2], /name of a category/);
  for (const [address, why] of [
    ['no address', 'The URL cannot be read.'],
    ['ftp://acme.com/', 'Only http and https addresses can be fetched, not ftp:'],
  ])
    assert.deepEqual(await save({ mapping: { ...whole(), url: { '@template': address } } }), [
      400,
      'config__mappings',
      `Mapping 1, Address (url): ${why}`,
    ]);
  assert.equal((await save({ sample_percent: 12.5, consent: 'Advertising' }))[0], 200);
});
