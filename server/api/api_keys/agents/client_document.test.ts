import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../../test/around_tests.ts';
import { askWith, assistantOf, callback, signedIn } from '../../../../test/factories/assistants.ts';
import type { TestOrganization } from '../../../../test/harness.ts';
import { openHarness } from '../../../../test/harness.ts';
import { openHttpReceiver } from '../../../../test/servers/http_receiver.ts';
import type { HttpReceiver } from '../../../../test/servers/http_receiver.ts';
import { openOutbound } from '../../../platform/outbound/outbound.ts';

const rate_limit_per_minute = 100;
const client_id = 'https://assistant.example.com/client.json';
const described = { client_id, client_name: 'Helper', redirect_uris: [callback] };

let home: TestOrganization;
let cookie: string;
let host: HttpReceiver;
const guard = openOutbound({ allow: ['127.0.0.1/32'] });
/** The guard, with the way to the assistant's host led to a server of this test. */
const outbound = {
  ...guard,
  fetch: (url: string | URL, init?: Parameters<typeof guard.fetch>[1]) =>
    guard.fetch(String(url).replace('https://assistant.example.com', host.url), init),
};
const harness = aroundTests(
  async () => {
    host = await openHttpReceiver({});
    const opened = await openHarness({
      clickhouse: false,
      deps: { outbound },
      config: { rate_limit_per_minute },
    });
    const close = async () => {
      await Promise.all([opened.close(), host.close(), guard.close()]);
    };
    return { ...opened, close };
  },
  async (opened) => {
    home = await opened.newOrganization();
    cookie = await opened.newSession(home.user);
  },
);

const preview = () =>
  harness.request('POST', '/api/personal_api_keys/agents/preview/', {
    headers: { cookie },
    body: assistantOf(harness, client_id, callback, 'project:read').asked,
  });

test('a client that a document describes is let in under the name of its host', async () => {
  const said = { status: 200, body: JSON.stringify(described) };
  host.plan(said, said, said);
  const { body } = await preview();
  assert.deepEqual([body.name, body.client_host], ['Helper', 'assistant.example.com']);
  const assistant = assistantOf(harness, client_id, callback, 'project:read');
  const first = await signedIn(harness, cookie, assistant);
  // Another copy of the program has a grant of its own, and ends no other.
  const second = await signedIn(harness, cookie, assistant);
  assert.deepEqual(
    [await askWith(harness, first.access_token), await askWith(harness, second.access_token)],
    [200, 200],
  );
});

test('a document that is not that of the client, or cannot be read, is refused', async () => {
  const said = (fields: object) => ({
    status: 200,
    body: JSON.stringify({ ...described, ...fields }),
  });
  const answers = [
    said({ client_id: `${client_id}?x=1` }),
    said({ redirect_uris: ['https://evil.example/callback'], client_name: 'a\nb' }),
    said({ redirect_uris: [] }),
    said({ token_endpoint_auth_method: 'private_key_jwt' }),
    said({ client_name: 'x'.repeat(20_000) }),
    { status: 200, body: 'no JSON' },
    { status: 404, body: '{}' },
    { status: 302, headers: { location: `${host.url}/other` }, body: '' },
  ];
  for (const answer of answers) {
    const asked = host.requests.length;
    host.plan(answer);
    const { status, body } = await preview();
    assert.deepEqual([status, body.attr], [400, 'client_id'], JSON.stringify(answer).slice(0, 100));
    assert.equal(host.requests.length, asked + 1, 'no redirect is followed');
  }
});

test('an address that the document does not name is refused', async () => {
  host.plan({
    status: 200,
    body: JSON.stringify({ ...described, redirect_uris: ['https://ok.example/'] }),
  });
  const { status, body } = await preview();
  assert.deepEqual([status, body.attr], [400, 'redirect_uri']);
});

test('an address registers so many clients in a minute', async () => {
  const register = () =>
    harness.request('POST', '/oauth/register', { body: { redirect_uris: [callback] } });
  const statuses: number[] = [];
  while (statuses.length <= rate_limit_per_minute) statuses.push((await register()).status);
  assert.deepEqual([statuses[0], statuses.at(-1)], [201, 429]);
});
