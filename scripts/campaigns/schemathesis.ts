// Schemathesis, a tester of others, asks servers of their own all that /api/schema/ declares, also
// one operation after the other along links (stateful). Needs python3; what it installs goes into
// peers/. Says the shares of the answers by phase. Exit code 1 for a 5xx, or for an answer that
// the document does not declare.
// npm run schemathesis [-- --minutes 60 --seed 1 --round 10]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Json } from '../../server/platform/http/openapi/json.ts';
import { listOperations } from '../../test/fuzz/operations.ts';
import type { FuzzedDocument, Operation } from '../../test/fuzz/operations.ts';
import { recordRequests } from '../../test/reference/recorder.ts';
import type { Recorded } from '../../test/reference/recorder.ts';
import { stories } from '../../test/reference/stories.ts';
import { openStoryWorld } from '../../test/reference/world.ts';
import type { StoryWorld } from '../../test/reference/world.ts';
import { root } from '../child.ts';
import { anySeed, readOptions } from '../options.ts';
import { installPython } from '../peer.ts';
import { preparedDocument } from './schemathesis/document.ts';
import type { Published as JsonPublished } from './schemathesis/document.ts';
import { createObjects } from './schemathesis/objects.ts';
import { countAnswers, openTally } from './schemathesis/tally.ts';

const version = 'schemathesis==4.32.5';
/** The checks of the document for every answer. */
const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_schema_conformance',
];
/** These routes end the caller's account or all its sessions, so no more requests could follow. */
const endings = ['DELETE /api/users/@me/', 'DELETE /api/sessions/'];
/** Wide phases end on their own, after about a minute each. */
const wide = ['examples', 'coverage'];

/** Time after which the first planned runs of a world are delivered. */
const worker_ms = 5_000;

type Published = FuzzedDocument &
  JsonPublished & { components: { securitySchemes: { session: { name: string } } } };

const { minutes, seed, round } = readOptions({ minutes: 10, seed: anySeed(), round: 10 });
const peers = join(root, 'peers/schemathesis');
mkdirSync(peers, { recursive: true });
const bin = dirname(await installPython('schemathesis/python', [version]));

const end_ms = performance.now() + minutes * 60_000;
const left_minutes = () => (end_ms - performance.now()) / 60_000;
const tally = openTally();
console.log(`${version}, seed ${seed}, ${minutes} minutes`);
let has_failed = false;
for (const phase of wide) await runPhase(phase, Math.min(round, left_minutes()), seed);
for (let n = 0; left_minutes() > 0.5; n += 1) {
  const phase = n % 3 === 2 ? 'fuzzing' : 'stateful';
  await runPhase(phase, Math.min(round, left_minutes()), seed + n);
}
tally.print();
process.exitCode = has_failed || tally.serverErrors() > 0 ? 1 : 0;

/** Runs one phase on its own server, which has objects of each kind, and a worker. */
async function runPhase(phase: string, for_minutes: number, phase_seed: number): Promise<void> {
  const world = await openStoryWorld();
  try {
    const recorded = recordRequests(world.harness.app);
    for (const tell of Object.values(stories)) await tell(world);
    await world.delivering(async () => {
      const { args, spared, operations } = await prepare(world, recorded);
      countAnswers(world.harness.app, operations, tally.of(phase));
      const limits = { 'max-time': Math.max(1, Math.round(for_minutes * 60)), seed: phase_seed };
      const given = Object.entries(limits).flatMap(([name, value]) => [`--${name}`, `${value}`]);
      const code = await run([...args, '--phases', phase, ...given], spared);
      console.log(`${phase}, seed ${phase_seed}: exit code ${code}`);
      has_failed ||= code !== 0;
    });
  } finally {
    await world.close();
  }
}

async function run(args: string[], spared: string[]): Promise<number | null> {
  const child = spawn(join(bin, 'schemathesis'), [...args, '--continue-on-failure'], {
    cwd: peers,
    stdio: 'inherit',
    env: {
      ...process.env,
      SPARED: JSON.stringify(spared),
      SCHEMATHESIS_HOOKS: 'hooks',
      PYTHONPATH: join(import.meta.dirname, 'schemathesis'),
    },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code;
}

/** Creates objects, writes the files that Schemathesis reads, and returns its command line. */
async function prepare(world: StoryWorld, recorded: Recorded) {
  const { harness, home } = world;
  const { body } = await harness.app.inject('/api/schema/');
  const published = JSON.parse(body) as Published;
  const operations = listOperations(published);
  const { name } = published.components.securitySchemes.session;
  const session = await harness.newSession(home.user);
  const cookie = `${name}=${session.slice(session.indexOf('=') + 1)}`;
  const key = { authorization: `Bearer ${home.key}` };
  const create = (times: number) =>
    createObjects(operations, recorded, times, async (operation, path, sent) => {
      const headers = needsSession(published, operation) ? { cookie } : key;
      return (await harness.request(operation.method, path, { body: sent, headers })).body as Json;
    });
  await create(2);
  await delay(worker_ms);
  const objects = await create(0);
  const address = await harness.app.listen({ host: '127.0.0.1', port: 0 });
  const schema = join(peers, 'document.json');
  const prepared = preparedDocument(published, address, { operations, recorded, objects });
  writeFileSync(schema, JSON.stringify(prepared));
  const config = join(peers, 'schemathesis.toml');
  writeFileSync(config, configuration(home.key, cookie));
  const options = {
    url: address,
    checks: checks.join(','),
    'request-timeout': '120',
    // Otherwise it would omit or break the credential like any parameter.
    'generation-with-security-parameters': 'false',
  };
  const given = Object.entries(options).flatMap(([option, value]) => [`--${option}`, value]);
  const without = endings.flatMap((ending) => ['--exclude-name', ending]);
  const args = ['--config-file', config, 'run', schema, ...given, ...without];
  return { args, operations, spared: await callerOf(world, cookie) };
}

/** Without this, it infers about 10,000 links and spends its time on them. */
function configuration(key: string, cookie: string): string {
  return [
    '[phases.stateful.inference]',
    'algorithms = []',
    '[auth.openapi.personal_api_key]',
    `bearer = "${key}"`,
    '[auth.openapi.session]',
    `api_key = "${cookie}"`,
  ].join('\n');
}

/** The caller's own objects, which no later request can do without. */
async function callerOf({ harness, home, organization, project }: StoryWorld, cookie: string) {
  const list = async (path: string) =>
    (await harness.request('GET', path, { headers: { cookie } })).body.results as { id: string }[];
  const member = `${organization}members/${home.user.uuid}/`;
  const keys = await list('/api/personal_api_keys/');
  const sessions = await list('/api/sessions/');
  const changed = (path: string) => ['PATCH', 'PUT', 'DELETE'].map((method) => `${method} ${path}`);
  return [
    ...[organization, project, `${member}sessions/`].map((path) => `DELETE ${path}`),
    ...[`${organization}security/`, member].flatMap(changed),
    ...keys.flatMap(({ id }) => [
      ...changed(`/api/personal_api_keys/${id}/`),
      `POST /api/personal_api_keys/${id}/roll/`,
    ]),
    ...sessions.flatMap(({ id }) => [
      `DELETE /api/sessions/${id}/`,
      `DELETE ${member}sessions/${id}/`,
    ]),
  ];
}

/** Returns true if the operation accepts only a session. */
function needsSession({ paths }: Published, { method, path }: Operation): boolean {
  const { security } = paths[path]![method.toLowerCase()] as { security?: object[] };
  return security?.some((one) => 'session' in one) === true;
}
