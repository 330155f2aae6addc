import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareHarness } from '../harness.ts';
import { everyRoute } from './every_route.ts';

type Schema = {
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
};

const harness = shareHarness({ clickhouse: false });

/** The names of fields that hold a secret. */
const secret_name =
  /(^|_)(secret|token|tokens|password|code|codes|value|link|links|seed|otpauth_url|private_key)$/;

/** Fields of such a name that open nothing, and where they may stand: each with its reason. */
const harmless: [field: string, route: RegExp, why: string][] = [
  ['api_token', /./, 'a write key is public: it stands in web pages'],
  ['site_token', /site_apps/, 'public: it stands in web pages'],
  ['value', /^(GET|PUT|PATCH) .*write_keys/, 'a write key is public: it stands in web pages'],
  ['value', /ingestion_rules/, 'a constant that a rule sets'],
  ['value', /^GET .*metrics\/$/, 'a number'],
  ['value', /^GET .*receipt\/$/, 'a signature'],
  ['has_password', /./, 'yes or no'],
  ['mask_value', /./, 'eight characters of a key'],
  ['code', /./, 'the code of a fault, for programs'],
  ['error_code', /./, 'the code of a fault, for programs'],
];

function secretFields(schema: Schema, route: string): string[] {
  const own = Object.keys(schema.properties ?? {}).filter(
    (name) =>
      secret_name.test(name) &&
      !harmless.some(([field, where]) => field === name && where.test(route)),
  );
  const inner = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.anyOf ?? []),
    ...(schema.items === undefined ? [] : [schema.items]),
  ];
  return [...own, ...inner.flatMap((one) => secretFields(one, route))];
}

test('an answer with a secret is not cached on its way', async () => {
  const routes = await everyRoute(harness.deps);
  const found = routes.map((route) => ({
    route: `${route.method} ${route.path}`,
    no_store: route.no_store,
    secrets: Object.entries(route.responses)
      .filter(([status]) => status < '300')
      .flatMap(([, answer]) => secretFields(answer as Schema, `${route.method} ${route.path}`)),
  }));
  assert.deepEqual(
    found.filter(({ no_store, secrets }) => !no_store && secrets.length > 0),
    [],
    'Say no_store in the config of the route; a field that opens nothing has a line in harmless.',
  );
  assert.ok(found.filter(({ secrets }) => secrets.length > 0).length >= 10);
});
