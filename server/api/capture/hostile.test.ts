import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { is_deep } from '../../../test/depth.ts';
import { storedEvents } from '../../../test/factories/events/stored_events.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Harness, TestOrganization } from '../../../test/harness.ts';
import { watchThread } from '../../../test/processor_time.ts';
import { cheap_bodies, heavy_bodies } from '../../../test/capture_cases/hostile_bodies.ts';
import type { HostileBody } from '../../../test/capture_cases/hostile_bodies.ts';
import { protocols } from './protocols.ts';

let harness: Harness;
let home: TestOrganization;
before(async () => {
  harness = await openHarness({
    config: { capture_limit_per_key: 0, capture_limit_per_address: 0 },
  });
  home = await harness.newOrganization();
});
after(() => harness.close());

const bearer = () => ({ authorization: `Bearer ${home.project.api_token}` });
const doors = protocols.flatMap(({ match }) => match);
const pathsOf = (method: 'GET' | 'POST') => [
  ...new Set(
    doors
      .filter(({ methods = ['POST'] }) => methods.includes(method))
      .flatMap(({ paths }) => paths),
  ),
];
const posts = pathsOf('POST');
/** One path of each protocol, and of each form that it has. */
const forms = doors
  .filter(({ methods = ['POST'] }) => methods.includes('POST'))
  .map(({ paths }) => paths.at(-1)!);

/** Returns the status that docs/sdks.md promises for the body at the path. */
function wantedOf({ wanted, body }: HostileBody, path: string): number {
  if (typeof wanted === 'number') return wanted;
  // OpenTelemetry accepts no message without records or spans.
  if (path.endsWith('/logs/'))
    return wanted === 'records' || body.includes('"resourceLogs"') ? 200 : 400;
  if (path.includes('/otel/')) return body.includes('"resourceSpans"') ? 200 : 400;
  return wanted === 'told' && path.startsWith('/i/v1/') ? 200 : 400;
}

async function sendHostile(hostile: HostileBody, path: string): Promise<void> {
  const { says, body, headers } = hostile;
  const sent = { body, headers: { ...bearer(), ...headers } };
  const { status, text } = await harness.request('POST', path, sent);
  assert.equal(status, wantedOf(hostile, path), `${path}, ${says}: ${text.slice(0, 200)}`);
}

test('every path answers what no SDK sends as the docs say', async () => {
  for (const body of cheap_bodies) await Promise.all(posts.map((path) => sendHostile(body, path)));
});

test('long values are answered in every form, and leave memory and loop to others', async () => {
  const watched = watchThread();
  // Each body at an eighth of the forms in turn, so that each form gets an eighth of the bodies.
  for (const [row, body] of heavy_bodies.entries())
    for (const [column, path] of forms.entries())
      if (is_deep || (row + column) % 8 === 0) await sendHostile(body, path);
  const { turn_ms, grown_bytes } = watched();
  assert.ok(turn_ms < 300, `A turn of the event loop took ${turn_ms} ms of processor.`);
  assert.ok(grown_bytes < 1024 ** 3, `${grown_bytes} bytes of memory more.`);
});

test('a faulty event in a query is 400 at every path', async () => {
  const deep = '['.repeat(5_000);
  const gets = pathsOf('GET').flatMap((path) =>
    ['', 'null', '%ff%fe', 'bnVsbA', '{"__proto__":{"event":"x"}}', deep].map(async (data) => {
      const { status, text } = await harness.request('GET', `${path}?data=${data}`, {
        headers: bearer(),
      });
      assert.equal(status, 400, `${path}, ${data.slice(0, 20)}: ${text}`);
    }),
  );
  await Promise.all(gets);
});

test('a wrong key is 401 at every path, and a personal one learns where it belongs', async () => {
  const keys: [key: string | undefined, says: RegExp][] = [
    [undefined, /write key \(slp_/],
    ['x', /unknown, expired or revoked/],
    ['phc_ofAnotherProduct', /unknown, expired or revoked/],
    [`slp_${'A'.repeat(43)}`, /unknown, expired or revoked/],
    [home.key, /personal API key \(slk_...\), which must never be in an SDK/],
  ];
  const body = { batch: [], data: [], resourceLogs: [], resourceSpans: [] };
  const settings = protocols.flatMap((one) =>
    one.settings.filter(({ key }) => key === true).flatMap(({ paths }) => paths),
  );
  for (const [key, says] of keys) {
    const headers: Record<string, string> = key === undefined ? {} : { 'x-write-key': key };
    const refused = [
      ...posts.map((path) => harness.request('POST', path, { headers, body })),
      ...pathsOf('GET').map((path) => harness.request('GET', `${path}?e=pv`, { headers })),
      ...settings.map((path) =>
        harness.request('GET', path.replace(':key', key ?? 'x'), { headers }),
      ),
    ];
    for (const { status, text } of await Promise.all(refused)) {
      assert.equal(status, 401, text);
      if (key !== undefined) assert.match(text, says);
    }
  }
});

test('hostile bodies store no event and change no prototype', async () => {
  assert.deepEqual(await storedEvents(harness.deps, home.project.id), []);
  assert.equal(({} as { batch?: unknown }).batch, undefined);
  assert.equal((await harness.request('GET', '/healthz')).status, 200);
});
