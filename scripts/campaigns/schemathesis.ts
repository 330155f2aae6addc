// Schemathesis, a tester of others, asks a server of its own all that /api/schema/ declares, also
// one operation after the other as its answers lead (stateful). Needs python3; what it installs
// goes into peers/. Exit code 1 for a 5xx, or for an answer that the document does not declare.
// npm run schemathesis [-- --minutes 60 --seed 1]
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openStoryWorld } from '../../test/reference/world.ts';
import { root } from '../child.ts';
import { anySeed, readOptions } from '../options.ts';

const version = 'schemathesis==4.32.5';
/** What the document promises of every answer. */
const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_schema_conformance',
];
/** Ends the account, the session or the organization that asks, so that nothing is left to ask. */
const endings = '^/api/(users/@me|sessions|organizations/\\{id\\}|projects/\\{id\\})/$';

const { minutes, seed } = readOptions({ minutes: 10, seed: anySeed() });
const peers = join(root, 'peers/clients');
const bin = join(peers, 'python/bin');
mkdirSync(peers, { recursive: true });
if (!existsSync(bin))
  execFileSync('python3', ['-m', 'venv', join(peers, 'python')], { stdio: 'inherit' });
if (!existsSync(join(bin, 'schemathesis')))
  execFileSync(join(bin, 'pip'), ['install', '-q', version], { stdio: 'inherit' });

const world = await openStoryWorld();
try {
  const address = await world.harness.app.listen({ host: '127.0.0.1', port: 0 });
  // The examples name what another server had.
  const document = world.harness.app.swagger() as { paths: object; servers: object[] };
  const schema = join(peers, 'schemathesis.json');
  const { body } = await world.harness.app.inject('/api/schema/');
  const published = { ...(JSON.parse(body) as typeof document), servers: [{ url: address }] };
  writeFileSync(
    schema,
    JSON.stringify(published, (key, value) => (key === 'example' ? undefined : value)),
  );
  console.log(`seed ${seed}, ${minutes} minutes`);
  const options = {
    url: address,
    seed: String(seed),
    checks: checks.join(','),
    header: `Authorization: Bearer ${world.home.key}`,
    'max-time': String(minutes * 60),
    phases: 'coverage,fuzzing,stateful',
    'exclude-path-regex': endings,
    'request-timeout': '120',
  };
  const given = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  const args = ['run', schema, ...given, '--continue-on-failure'];
  const child = spawn(join(bin, 'schemathesis'), args, { cwd: peers, stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  process.exitCode = code === 0 ? 0 : 1;
} finally {
  await world.close();
}
