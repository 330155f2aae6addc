import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { OAuthClientProvider } from '@modelcontextprotocol/client';
import { shareHarness } from '../../../../test/harness.ts';
import type { TestOrganization } from '../../../../test/harness.ts';
import { callback, codeIn, letIn, server_url } from '../../../../test/factories/assistants.ts';

let home: TestOrganization;
let cookie: string;
const harness = shareHarness({
  opened: async () => {
    home = await harness.newOrganization();
    cookie = await harness.newSession(home.user);
  },
});

type Sent = { method: string; path: string; status: number };

/** The memory of an assistant; the person lets it in with `more` when it opens a browser. */
function remembering(more: () => object) {
  const kept: Record<string, any> = {};
  const opened: URL[] = [];
  const provider: OAuthClientProvider = {
    redirectUrl: callback,
    clientMetadata: {
      client_name: 'Helper',
      redirect_uris: [callback],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    state: () => 'a state',
    clientInformation: () => kept['client'],
    saveClientInformation: (client) => void (kept['client'] = client),
    tokens: () => kept['tokens'],
    saveTokens: (tokens) => void (kept['tokens'] = tokens),
    codeVerifier: () => kept['verifier'],
    saveCodeVerifier: (verifier) => void (kept['verifier'] = verifier),
    discoveryState: () => kept['discovery'],
    saveDiscoveryState: (state) => void (kept['discovery'] = state),
    redirectToAuthorization: async (url) => {
      opened.push(url);
      const asked = Object.fromEntries(url.searchParams);
      const answer = await letIn(harness, cookie, asked, more());
      assert.equal(answer.status, 201, answer.text);
      kept['answer'] = new URL(answer.body.redirect_url);
    },
  };
  return { provider, kept, opened };
}

/** The official client, whose every request goes through the harness. */
function assistantAt(provider: OAuthClientProvider, sent: Sent[]) {
  return new StreamableHTTPClientTransport(new URL(`${server_url}/mcp`), {
    authProvider: provider,
    fetch: async (url, init = {}) => {
      const { pathname, search } = new URL(url);
      const body = init.body as string | URLSearchParams | undefined;
      const method = init.method ?? 'GET';
      const answer = await harness.request(method, pathname + search, {
        headers: Object.fromEntries(new Headers(init.headers)),
        body: body instanceof URLSearchParams ? body.toString() : body,
      });
      sent.push({ method, path: pathname, status: answer.status });
      const headers = Object.entries(answer.headers).filter((one) => typeof one[1] === 'string');
      return new Response(answer.text === '' ? null : answer.text, {
        status: answer.status,
        headers: Object.fromEntries(headers) as Record<string, string>,
      });
    },
  });
}

test('the official client signs in, asks for more, and renews its token', async () => {
  const { provider, kept, opened } = remembering(() => ({}));
  const sent: Sent[] = [];
  const open = async () => {
    const transport = assistantAt(provider, sent);
    const client = new Client({ name: 'test', version: '1.0.0' });
    return { client, transport, connect: () => client.connect(transport) };
  };
  const first = await open();
  await assert.rejects(first.connect(), /Unauthorized/);
  const [asked] = opened;
  assert.equal(asked!.pathname, '/authorize');
  assert.match(asked!.searchParams.get('scope')!, /^organization:read project:read/);
  assert.equal(asked!.searchParams.get('resource'), `${server_url}/mcp`);
  assert.equal(kept['answer'].searchParams.get('state'), 'a state');
  await first.transport.finishAuth(kept['answer'].searchParams);
  assert.match(kept['tokens'].access_token, /^sla_/);

  const second = await open();
  await second.connect();
  const { tools } = await second.client.listTools();
  assert.ok(tools.some(({ name }) => name === 'apply_configuration'));
  const looked = await second.client.callTool({ name: 'list_projects', arguments: {} });
  assert.equal(looked.isError ?? false, false);
  assert.ok(JSON.stringify(looked.structuredContent).includes(home.organization.id));

  // A call beyond the scopes leads the person to the browser again.
  await assert.rejects(
    second.client.callTool({ name: 'plan_backfill', arguments: {} }),
    /Unauthorized/,
  );
  assert.match(opened[1]!.searchParams.get('scope')!, /batch_export:write/);
  await second.transport.finishAuth(kept['answer'].searchParams);
  const third = await open();
  await third.connect();
  const planned = await third.client.callTool({ name: 'plan_backfill', arguments: {} });
  assert.equal(planned.isError, true, 'the tool refuses the missing arguments, not the token');

  const before = kept['tokens'].access_token;
  kept['tokens'] = { ...kept['tokens'], access_token: 'sla_none' };
  const fourth = await open();
  await fourth.connect();
  assert.notEqual(kept['tokens'].access_token, before);
  assert.equal(opened.length, 2, 'no browser for a new token');
  for (const { client } of [second, third, fourth]) await client.close();
});

test('a sign-in leads back with code, state and issuer, and can be refused', async () => {
  const { provider, kept, opened } = remembering(() => ({ scopes: ['project:read'] }));
  await assert.rejects(
    new Client({ name: 'test', version: '1' }).connect(assistantAt(provider, [])),
  );
  const asked = Object.fromEntries(opened[0]!.searchParams);
  const answer = kept['answer'] as URL;
  assert.equal(answer.origin + answer.pathname, callback);
  assert.deepEqual(
    ['state', 'iss'].map((name) => answer.searchParams.get(name)),
    ['a state', server_url],
  );
  const preview = await harness.request('POST', '/api/personal_api_keys/agents/preview/', {
    headers: { cookie },
    body: asked,
  });
  assert.equal(preview.status, 200, preview.text);
  assert.deepEqual(
    [preview.body.name, preview.body.client_host, preview.body.returns_to, preview.body.is_local],
    ['Helper', null, '127.0.0.1', true],
  );
  const refusal = new URL(preview.body.refusal_url);
  assert.deepEqual(
    ['error', 'state', 'iss'].map((name) => refusal.searchParams.get(name)),
    ['access_denied', 'a state', server_url],
  );
  const again = await letIn(harness, cookie, asked);
  assert.equal(codeIn(again).length, 43);
});
