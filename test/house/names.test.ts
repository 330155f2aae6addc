import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lineOfText } from '../../server/platform/line_of_text.ts';
import { shareHarness } from '../harness.ts';
import { everyRoute } from './every_route.ts';

type Schema = {
  type?: string | string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
  anyOf?: Schema[];
  enum?: unknown;
  const?: unknown;
  format?: string;
  pattern?: string;
};

const harness = shareHarness({ clickhouse: false });

/** Texts of bodies that are no line for people to read, each with what it is instead. */
const other_texts: Record<string, string> = {
  accepted_providers: 'compared with domains that are stored',
  allowed_ip_ranges: 'checked as ranges of addresses',
  authenticatorAttachment: 'of the protocol of passkeys',
  authenticatorData: 'of the protocol of passkeys',
  code: 'a code that is compared',
  consent: 'compared with a category of the customer',
  content: 'the body of a request',
  current_password: 'a password',
  custom_query: 'a query of several lines',
  description: 'several lines',
  distinct_id: 'an id of the customer',
  distinct_ids: 'ids of the customer',
  domain: 'checked as a host name',
  email: 'compared with addresses that are stored',
  error_code: 'compared with codes that are stored',
  event: 'a word of the customer',
  events: 'words of the customer',
  destination_type: 'compared with types that are stored',
  authorize_url: 'checked as an address',
  revoke_url: 'checked as an address',
  token_url: 'checked as an address',
  hash: 'compared with a hash that is stored',
  hogql_query: 'a query of several lines',
  exclude_events: 'words of the customer',
  icon: 'an address of a picture',
  id: 'of a message of a protocol',
  include_events: 'words of the customer',
  internal_addresses: 'checked as addresses of a network',
  key: 'a key of the customer',
  message: 'several lines',
  method: 'of a protocol',
  metadata: 'XML of several lines',
  new_password: 'a password',
  password: 'a password',
  mapping: 'compared with names that are stored',
  property: 'a name in the events of the customer',
  subscribe: 'a filter that is read',
  publicKey: 'of the protocol of passkeys',
  query: 'several lines',
  saml_acs_url: 'checked as an address',
  saml_entity_id: 'compared byte for byte with what a provider says',
  saml_x509_cert: 'checked as a certificate',
  reason: 'looked for in texts that are stored',
  search: 'looked for in texts that are stored',
  secret: 'a secret',
  source: 'the files of a plugin',
  sso_enforcement: 'compared with the providers that are configured',
  task: 'compared with the tasks of the code that is sent',
  timezone: 'compared with the names of zones',
  token: 'a secret',
  transports: 'of the protocol of passkeys',
  type: 'compared with types that are known',
  url: 'checked as an address',
  value: 'a value of the customer',
  values: 'values of the customer',
  $unset: 'words of the customer',
};

/** Fields of any shape, which are read by rules of their own. */
const unread = new Set(['config', 'config_schema', 'capabilities', 'metrics', 'public_jobs']);

const { pattern: rule } = lineOfText(1, undefined, 0) as Schema;

/** The texts of a body that no rule bounds, by the name of their field. */
function freeTexts(schema: Schema, name: string): string[] {
  if (unread.has(name)) return [];
  const inner = [
    ...Object.entries(schema.properties ?? {}).flatMap(([key, one]) => freeTexts(one, key)),
    ...(schema.anyOf ?? []).flatMap((one) => freeTexts(one, name)),
    ...(schema.items === undefined ? [] : freeTexts(schema.items, name)),
    ...(typeof schema.additionalProperties === 'object'
      ? freeTexts(schema.additionalProperties, name)
      : []),
  ];
  const isText = [schema.type].flat().includes('string');
  const isBound = [schema.enum, schema.const, schema.format, schema.pattern].some(
    (one) => one !== undefined,
  );
  return isText && !isBound ? [...inner, name] : inner;
}

/** Counts the lines of text in a schema. */
function lines(schema: Schema): number {
  const inner = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.anyOf ?? []),
    ...(schema.items === undefined ? [] : [schema.items]),
  ];
  return inner.reduce((sum, one) => sum + lines(one), schema.pattern === rule ? 1 : 0);
}

test('every text of a body is a line of text, or is known to be something else', async () => {
  const routes = await everyRoute(harness.deps);
  const bodies = routes.flatMap(({ method, path, body }) =>
    body === undefined ? [] : [{ route: `${method} ${path}`, body: body as Schema }],
  );
  const free = bodies.flatMap(({ route, body }) =>
    freeTexts(body, '').map((name) => ({ route, name })),
  );
  assert.deepEqual(
    free.filter(({ name }) => !Object.hasOwn(other_texts, name)),
    [],
    'A name, label or title is a lineOfText (server/platform/line_of_text.ts). A text of another ' +
      'kind has a line in other_texts.',
  );
  const named = new Set(free.map(({ name }) => name));
  assert.deepEqual(
    Object.keys(other_texts).filter((name) => !named.has(name)),
    [],
    'No body has a text of this name: take its line away.',
  );
  assert.ok(bodies.reduce((sum, { body }) => sum + lines(body), 0) >= 40);
});

test('no answer promises that a name is a line of text: older ones need not be', async () => {
  const routes = await everyRoute(harness.deps);
  const promising = routes.filter(({ responses }) =>
    Object.values(responses).some((answer) => lines(answer as Schema) > 0),
  );
  assert.deepEqual(
    promising.map(({ method, path }) => `${method} ${path}`),
    [],
    'Declare the name of the answer as Type.String().',
  );
});
