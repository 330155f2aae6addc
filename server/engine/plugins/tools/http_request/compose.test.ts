import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import {
  newWebhookSecret,
  readWebhookSecret,
} from '../../../../platform/outbound/standard_webhooks.ts';
import { MappingFault } from '../resolve.ts';
import { composeRequest } from './compose.ts';
import { http_description, http_entry, http_version } from './definition.ts';
import { toolFiles } from '../tool_files.ts';
import { toolOf } from '../tool.ts';

const event = {
  type: 'track',
  event: 'Order completed',
  messageId: '0190163d-8694-739b-aea5-966c26f8ad91',
  userId: 'ada/../admin?x=1',
  properties: { price: 19.5, url: 'https://shop.acme.com/in', tags: ['a', 'b'], to: '{{secret}}' },
};
const now_ms = Date.parse('2026-11-30T10:00:00.900Z');
const url = 'https://acme.com/in';
type Composing = Parameters<typeof composeRequest>;
const compose = (mapping: Composing[1], settings: Composing[2] = {}) =>
  composeRequest(event, mapping, settings, now_ms);

test('A request has its body as JSON, its key and its type', () => {
  const mapping = {
    url,
    body: { what: { '@path': '$.event' }, text: { '@template': 'for {{properties.price}}' } },
    idempotency_key: { '@path': '$.messageId' },
  };
  assert.deepEqual(compose(mapping), {
    url,
    method: 'POST',
    headers: [
      ['content-type', 'application/json'],
      ['idempotency-key', event.messageId],
    ],
    body: '{"what":"Order completed","text":"for 19.5"}',
  });
});

test('Values in the middle of an address are encoded, raw ones and a whole address are not', () => {
  const at = (template: string) => compose({ url: { '@template': template } }).url;
  assert.equal(at(`${url}/{{userId}}`), `${url}/ada%2F..%2Fadmin%3Fx%3D1`);
  assert.equal(at(`${url}/{{{userId}}}`), `${url}/ada/../admin?x=1`);
  assert.equal(at('{{properties.url}}'), event.properties.url);
});

test('The secret reaches address and headers, and never the body', () => {
  const secret = 'T000/B000/XXX';
  const mapping = {
    url: { '@template': 'https://hooks.slack.com/services/{{secret}}' },
    headers: { Authorization: { '@template': 'Bearer {{secret}}' } },
    body: [{ '@path': '$.' }, { '@template': '<{{secret}}>' }, { '@path': '$.secret' }],
  };
  const { url: sent, headers, body } = compose(mapping, { secret });
  assert.equal(sent, `https://hooks.slack.com/services/${secret}`);
  assert.deepEqual(headers.at(-1), ['authorization', `Bearer ${secret}`]);
  assert.doesNotMatch(body!, /T000/);
  const brought = compose({ url, headers: { to: { '@path': '$.properties.to' } } }, { secret });
  assert.deepEqual(brought.headers.at(-1), ['to', '{{secret}}']);
});

test('A form is encoded, a text is sent as it is, and GET has no body', () => {
  const form = compose({
    url,
    format: 'form',
    body: { a: 'x y', tags: { '@path': '$.properties.tags' }, deep: { n: 1 } },
  });
  assert.equal(form.body, 'a=x+y&tags=a&tags=b&deep=%7B%22n%22%3A1%7D');
  assert.equal(form.headers[0]![1], 'application/x-www-form-urlencoded');
  const text = compose({ url, format: 'text', body: { '@template': '<p>{{event}}</p>' } });
  assert.equal(text.body, '<p>Order completed</p>');
  const typed = compose({
    url,
    format: 'text',
    body: 'x',
    headers: { 'Content-Type': 'text/xml' },
  });
  assert.deepEqual(typed.headers, [['content-type', 'text/xml']]);
  assert.equal(compose({ url, method: 'get', body: 'x' }).body, null);
});

test('A signature is over id, time and body, in the header of its name', () => {
  const signing_secret = newWebhookSecret();
  const signed = (settings: Composing[2]) =>
    new Map(compose({ url, body: { a: 1 } }, settings).headers);
  const text = `${event.messageId}.1796032800.{"a":1}`;
  const expected = (key: Buffer | string) =>
    `v1,${createHmac('sha256', key).update(text).digest('base64')}`;
  const headers = signed({ signing_secret });
  assert.equal(headers.get('webhook-id'), event.messageId);
  assert.equal(headers.get('webhook-timestamp'), '1796032800');
  assert.equal(headers.get('webhook-signature'), expected(readWebhookSecret(signing_secret)!));
  const other = signed({ signing_secret: 'plain text', sign_header: 'X-Signature' });
  assert.equal(other.get('x-signature'), expected('plain text'));
  assert.equal(signed({}).has('webhook-id'), false);
});

const faults: [Composing[1], RegExp][] = [
  [{}, /Address must be a text, and is missing/],
  [{ url: { '@path': '$.properties.absent' } }, /Address must be a text/],
  [{ url, format: 'xml' }, /json, form or text/],
  [{ url, format: 'form', body: 'x' }, /must be an object/],
  [{ url, format: 'text', body: { '@path': '$.' } }, /body of text must be a text/],
  [{ url, headers: { a: { '@path': '$.properties' } } }, /header a must be a text/],
  [{ url, headers: 'x' }, /Headers must be an object/],
  [{ url, body: { '@liquid': 'x' } }, /@liquid is not known/],
];
for (const [mapping, fault] of faults)
  test(`No request is made of ${JSON.stringify(mapping)}`, () =>
    assert.throws(
      () => compose(mapping),
      (error) => error instanceof MappingFault && fault.test(error.message),
    ));

test('The mapping for Segment sends the call with the write key to the address of its type', () => {
  const files = toolFiles(http_entry, http_description, http_version);
  const { mapping } = toolOf(files)!.templates.find(({ name = '' }) => /Segment/.test(name))!;
  const call = { type: 'track', event: 'Signed up', messageId: 'm1', userId: 'ada' };
  const { url, method, body } = composeRequest(call, mapping, {}, 0);
  assert.deepEqual([method, url], ['POST', 'https://api.segment.io/v1/track']);
  assert.deepEqual(JSON.parse(body!), { ...call, writeKey: 'WRITE_KEY' });
});
