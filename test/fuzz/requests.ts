import { gzipSync } from 'node:zlib';
import type { Random } from '../chaos/random.ts';
import type { Era } from './era.ts';
import { createSentToDoor } from './doors.ts';
import { hostileText } from './hostile.ts';
import type { Operation, Parameter, Schema } from './operations.ts';
import { createValue } from './values.ts';
import type { Creating } from './values.ts';

/** A request to send. `template` is the path of its operation. */
export type FuzzedRequest = {
  method: string;
  path: string;
  template: string;
  headers: Record<string, string>;
  body: Buffer | string | undefined;
};

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const json_types = [
  'application/json',
  'application/json; charset=utf-8',
  'application/merge-patch+json',
];
const other_types = [
  'text/plain',
  'application/x-ndjson',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/json; charset=latin1',
  'APPLICATION/JSON',
  'nonsense',
  '',
];
const broken_bodies = [
  '',
  '{',
  '[]',
  'null',
  '"x"',
  '1',
  '{"a":1,}',
  '\u0000',
  '[[[[',
  '{"events":[{}]}',
];
/**
 * Routes that compile code, hash a password or wait for foreign servers. They are asked less often,
 * because the time is better spent on the rest.
 */
const costly =
  /\/(update_source|sessions|password|test|verify|upgrade|totp|confirm|email|recovery_codes)\/$/;
/**
 * Routes that end the people or the organization of an era, after which nothing can be found. They
 * are rarely asked with a valid request.
 */
const endings = /^\/api\/(organizations\/\{id\}|projects\/\{id\}|users\/@me|sessions)\/$/;

/** The share of requests to routes that the document leaves out. */
const hidden_share = 0.1;

/** The routes to test: the operations of the document, and the routes that it leaves out. */
export type Asked = {
  operations: readonly Operation[];
  hidden: readonly Operation[];
  resolve: Creating['resolve'];
};

/**
 * Creates the request of a number: the operation, then a path, a query, headers and a body, each
 * valid or invalid at random.
 */
export function createRequest(
  random: Random,
  { operations, hidden, resolve }: Asked,
  era: Era,
): FuzzedRequest {
  const pick = () => random.one(random.next() < hidden_share ? hidden : operations);
  const picked = pick();
  const operation = costly.test(picked.path) && random.next() < 0.8 ? pick() : picked;
  const wrong = random.one([0, 0, 0.02, 0.1, 0.4]);
  const making: Creating = {
    random,
    wrong,
    resolve,
    known: (name) => knownValue(era, random, name),
  };
  const method = random.next() < 0.03 ? random.one(methods) : operation.method;
  if (operation.is_door && random.next() < 0.9)
    return createDoorRequest(making, { ...operation, method }, era);
  const sent = createBody(making, operation, method);
  const isEnding = method === 'DELETE' && endings.test(operation.path) && random.next() < 0.97;
  return {
    method,
    template: operation.path,
    path: `${createPath(random, wrong, operation, era)}${createQuery(making, operation, isEnding)}`,
    headers: { ...createHeaders(making, operation, era), ...sent.headers },
    body: sent.body,
  };
}

/** Creates the request of a client to its path. */
function createDoorRequest(making: Creating, operation: Operation, era: Era): FuzzedRequest {
  const { random, wrong } = making;
  const { method, path } = operation;
  const door = createSentToDoor(making, operation, era.cases);
  const query = door.query.map(
    ([name, text]) => `${name}=${encodeURIComponent(addressText(text, 8_000))}`,
  );
  const spelled = random.next() < 0.1 ? path.replace(/\/$/, '') : path;
  const mayHave = method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS';
  const sent: Sent = mayHave
    ? spoiledBody(making, door.body, random.one(['application/json', 'text/plain', '']))
    : { headers: {}, body: undefined };
  const origin: Record<string, string> = random.next() < 0.3 ? { origin: 'https://a.example' } : {};
  return {
    method,
    template: path,
    path: query.length === 0 ? spelled : `${spelled}?${query.join('&')}`,
    headers: {
      ...(random.next() < wrong / 5 ? random.one(era.credentials) : {}),
      ...door.headers,
      ...origin,
      ...sent.headers,
    },
    body: sent.body,
  };
}

/** Returns the rest of a path with a free rest. */
const files = ['x', 'exports/1', 'index.html', 'recorder.js', 'array.js', '%00'];

/** Names of fields that refer to an object of the era. */
const fields: Record<string, string> = {
  plugin: 'pipeline_destinations',
  team_id: 'projects',
  batch_export_ids: 'batch_exports',
  organization: 'organizations',
};

function knownValue(era: Era, random: Random, name: string): unknown {
  const segment = fields[name];
  const id = segment === undefined ? undefined : era.idOf(segment, random);
  return id !== undefined && /^\d+$/.test(id) ? Number(id) : id;
}

function createPath(random: Random, wrong: number, operation: Operation, era: Era): string {
  const segments = operation.path.split('/');
  const path = segments
    .map((segment, index) => {
      if (segment === '*') return random.one(files);
      if (!segment.startsWith('{')) return segment;
      if (random.next() < wrong / 2)
        return encodeURIComponent(addressText(hostileText(random), 1_500));
      const collection = segment === '{key}' ? 'key' : segments[index - 1]!;
      const current = random.next() < 0.1 ? '@current' : undefined;
      return current ?? era.idOf(collection, random) ?? '01890000-0000-7000-8000-000000000000';
    })
    .join('/');
  return random.next() < wrong / 20 ? path.slice(0, -1) : path;
}

function createQuery(making: Creating, operation: Operation, isEnding: boolean): string {
  const { random, wrong } = making;
  const parts: string[] = isEnding ? ['validate_only=true'] : [];
  for (const parameter of operation.parameters) {
    const isThere = parameter.name === 'validate_only' ? 0.1 : 0.4;
    if (parameter.in !== 'query' || random.next() > isThere) continue;
    if (isEnding && parameter.name === 'validate_only') continue;
    parts.push(`${parameter.name}=${encodeURIComponent(queryText(making, parameter))}`);
    if (random.next() < wrong) parts.push(`${parameter.name}=${encodeURIComponent('x')}`);
  }
  if (random.next() < wrong)
    parts.push(encodeURIComponent(addressText(hostileText(random), 1_500)));
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

function queryText(making: Creating, { schema, name }: Parameter): string {
  const value = createValue(making, schema, name);
  const text = (one: unknown) => (typeof one === 'string' ? one : JSON.stringify(one));
  return addressText(Array.isArray(value) ? value.map(text).join(',') : text(value), 4_000);
}

function createHeaders(making: Creating, operation: Operation, era: Era): Record<string, string> {
  const { random, wrong } = making;
  const headers: Record<string, string> = { ...random.one(era.credentials) };
  if (random.next() < wrong / 3) Object.assign(headers, ...era.credentials);
  if (random.next() < wrong / 3) {
    delete headers['authorization'];
    delete headers['cookie'];
  }
  if (random.next() < wrong / 5)
    headers['authorization'] = random.one(['Bearer x', 'Basic eDp5', 'Bearer ', 'x'.repeat(500)]);
  for (const { in: place, name } of operation.parameters)
    if (place === 'header' && random.next() < 0.3) headers[name] = headerText(making, era);
  if (random.next() < wrong)
    headers['accept'] = random.one(['text/html', 'application/x-ndjson', '*/*;q=0', 'x', '']);
  if (headers['cookie'] !== undefined && random.next() < wrong)
    headers['origin'] = random.one(['https://evil.example', 'null', 'x']);
  return headers;
}

function headerText({ random, wrong }: Creating, era: Era): string {
  if (random.next() < wrong)
    return hostileText(random)
      .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '?')
      .slice(0, 2_000);
  return random.one(['*', '"x"', `key-${random.between(0, 50)}`, ...era.tags.slice(-3)]);
}

type Sent = { headers: Record<string, string>; body: Buffer | string | undefined };

function createBody(making: Creating, operation: Operation, method: string): Sent {
  const { random, wrong } = making;
  const mayHave = method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS';
  if (!mayHave || (operation.body === undefined && random.next() > wrong))
    return { headers: {}, body: undefined };
  const type = random.next() < wrong / 4 ? random.one(other_types) : random.one(json_types);
  return spoiledBody(making, createValue(making, operation.body ?? ({} satisfies Schema)), type);
}

/** Returns the value as the body of a request of the type, sometimes broken or compressed. */
function spoiledBody({ random, wrong }: Creating, value: unknown, type: string): Sent {
  const headers: Record<string, string> = type === '' ? {} : { 'content-type': type };
  if (random.next() < wrong / 4) return { headers, body: random.one(broken_bodies) };
  const text = bodyText(value, type);
  if (random.next() > wrong / 4) return { headers, body: text };
  headers['content-encoding'] = random.one(['gzip', 'br', 'identity', 'x']);
  return { headers, body: random.next() < 0.5 ? gzipSync(text) : text };
}

function bodyText(value: unknown, type: string): string {
  const { events } = (value ?? {}) as { events?: unknown };
  return type === 'application/x-ndjson' && Array.isArray(events)
    ? events.map((event) => JSON.stringify(event)).join('\n')
    : (JSON.stringify(value) ?? '');
}

/** An address cannot contain half surrogates, nor the halves of a cut pair. */
function addressText(text: string, lengthMax: number): string {
  return text.slice(0, lengthMax).toWellFormed();
}
