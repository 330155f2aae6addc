import assert from 'node:assert/strict';
import { once } from 'node:events';
import https from 'node:https';
import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { test } from 'node:test';
import { aroundTests } from '../around_tests.ts';
import { createKey, newPerson } from '../factories/people/signed_in.ts';
import type { Person } from '../factories/people/signed_in.ts';
import { openHarness } from '../harness.ts';
import { certificate } from '../servers/certificate.ts';
import { startWebProxy, web_proxies } from '../servers/web_proxies.ts';
import type { WebProxy } from '../servers/web_proxies.ts';

let port: number;
const harness = aroundTests(async () => {
  const opened = await openHarness({
    clickhouse: false,
    config: { trusted_proxies: ['127.0.0.1'] },
  });
  port = Number(new URL(await opened.app.listen({ host: '127.0.0.1', port: 0 })).port);
  return opened;
});

type Call = { path: string; method?: string; headers?: Record<string, string>; from?: string };

/** Begins a request to the proxy, from an address of this machine. */
function begin(proxy: WebProxy, { path, method = 'GET', headers = {}, from = '127.0.0.1' }: Call) {
  const request = https.request({
    host: '127.0.0.1',
    servername: 'localhost',
    port: proxy.port,
    path,
    method,
    headers: { host: 'localhost', ...headers },
    localAddress: from,
    ca: certificate,
    agent: false,
  });
  const answered = once(request, 'response').then(([answer]) => answer as IncomingMessage);
  return { request, answered };
}

async function ask(proxy: WebProxy, call: Call) {
  const { request, answered } = begin(proxy, call);
  request.end();
  const answer = await answered;
  return { status: answer.statusCode, body: (await json(answer).catch(() => ({}))) as any };
}

/** A megabyte of events as lines. */
function lines(number: number): string {
  const event = { event: `e${number}`, distinct_id: 'ada', properties: { text: 'x'.repeat(1000) } };
  return `${JSON.stringify(event)}\n`.repeat(1000);
}

for (const [name, kind] of Object.entries(web_proxies))
  test(`${name} passes on addresses and large bodies`, { skip: kind.missing }, async () => {
    const person = await newPerson(harness);
    const proxy = await startWebProxy(kind, port);
    try {
      await passesAddresses(proxy, person);
      await passesBodies(proxy, person);
      // An answer of more than a megabyte.
      const { body } = await ask(proxy, { path: '/api/schema/' });
      assert.equal(body.openapi, '3.1.0');
      assert.equal((await ask(proxy, { path: '/metrics' })).status, 404);
      assert.equal((await ask(proxy, { path: '/healthz' })).status, 200);
    } finally {
      await proxy.close();
    }
  });

/** Asks with a key of one address, from it and from others that claim to be it. */
async function passesAddresses(proxy: WebProxy, person: Person): Promise<void> {
  const own = { scopes: ['*'], allowed_ip_ranges: ['127.0.0.9/32'] };
  const { value } = await createKey(person, own);
  const path = '/api/organizations/';
  const authorization = `Bearer ${value}`;
  const claim = { authorization, 'x-forwarded-for': '127.0.0.9', forwarded: 'for=127.0.0.9' };
  const right = await ask(proxy, { path, headers: { authorization }, from: '127.0.0.9' });
  assert.equal(right.status, 200);
  const wrong = await ask(proxy, { path, headers: claim, from: '127.0.0.8' });
  assert.equal(wrong.status, 403);
  assert.match(wrong.body.detail, /from the address 127\.0\.0\.8\./);
}

/** Sends 24 MB as they come; and a body without an end, whose refusal comes at once. */
async function passesBodies(proxy: WebProxy, person: Person): Promise<void> {
  const { value } = await createKey(person, { scopes: ['*'] });
  const path = `/api/projects/${person.project.id}/events/?validate_only=true`;
  const type = { 'content-type': 'application/x-ndjson' };
  const headers = { ...type, authorization: `Bearer ${value}` };
  const { request, answered } = begin(proxy, { path, method: 'POST', headers });
  for (let part = 0; part < 24; part += 1)
    if (!request.write(lines(part))) await once(request, 'drain');
  request.end();
  const answer = await answered;
  assert.equal(answer.statusCode, 200);
  assert.equal(((await json(answer)) as { taken: number }).taken, 24_000);
  const endless = begin(proxy, { path, method: 'POST', headers: type });
  endless.request.on('error', () => undefined);
  endless.request.write(lines(0));
  assert.equal((await endless.answered).statusCode, 401);
  endless.request.destroy();
}
