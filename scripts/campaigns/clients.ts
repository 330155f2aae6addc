// Clients that generators of strangers make of /api/schema/ call all endpoints of the contract:
// openapi-python-client (Python), oapi-codegen (Go), openapi-typescript with openapi-fetch
// (TypeScript, which is type-checked). Needs python3 and go; what they install goes into peers/.
// npm run clients [-- --only python|go|typescript]
// Prints each call that was refused or read wrongly; exit code 1 when there is one.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { contractCalls } from '../../test/reference/contract_calls.ts';
import type { ContractCall } from '../../test/reference/contract_calls.ts';
import { openStoryWorld } from '../../test/reference/world.ts';
import { root } from '../child.ts';
import { readOptions } from '../options.ts';
import { installPython } from '../peer.ts';

const sources = join(import.meta.dirname, 'clients');
const peers = join(root, 'peers/clients');
const versions = {
  python: ['openapi-python-client==0.29.1'],
  go: 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2',
  typescript: ['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', 'typescript@5.9.3'],
};
type Plan = { address: string; key: string; calls: ContractCall[] };

const { only } = readOptions({ only: '' });
const languages = { python, go, typescript };
const world = await openStoryWorld();
mkdirSync(peers, { recursive: true });
try {
  const address = await world.harness.app.listen({ host: '127.0.0.1', port: 0 });
  const schema = join(peers, 'schema.json');
  writeFileSync(schema, (await world.harness.app.inject('/api/schema/')).body);
  const results: boolean[] = [];
  for (const [name, call] of Object.entries(languages)) {
    if (only !== '' && only !== name) continue;
    const plan: Plan = { address, ...(await contractCalls(world)) };
    writeFileSync(join(peers, `${name}.json`), JSON.stringify(plan));
    results.push(await call(schema, plan));
  }
  process.exitCode = results.every(Boolean) ? 0 : 1;
} finally {
  await world.close();
}

/** Runs a program, passes its output on, and returns whether it succeeded. */
async function run(
  command: string,
  args: string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): Promise<boolean> {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}

async function python(schema: string): Promise<boolean> {
  const bin = dirname(await installPython('clients/python', versions.python));
  const generate = ['generate', '--path', schema, '--output-path', 'python_client', '--overwrite'];
  const path = { PATH: `${bin}:${process.env['PATH']}` };
  writeFileSync(join(peers, 'python.yaml'), 'package_name_override: sluice_client\n');
  const flags = ['--config', 'python.yaml', '--meta', 'setup'];
  return (
    (await run(join(bin, 'openapi-python-client'), [...generate, ...flags], peers, path)) &&
    (await run(join(bin, 'python'), [join(sources, 'stranger.py'), 'python.json'], peers, {
      PYTHONPATH: join(peers, 'python_client'),
    }))
  );
}

async function go(schema: string): Promise<boolean> {
  const folder = join(peers, 'go');
  mkdirSync(join(folder, 'client'), { recursive: true });
  if (!existsSync(join(peers, 'go_bin/oapi-codegen')))
    execFileSync('go', ['install', versions.go], {
      stdio: 'inherit',
      env: { ...process.env, GOBIN: join(peers, 'go_bin') },
    });
  copyFileSync(join(sources, 'stranger.go'), join(folder, 'main.go'));
  if (!existsSync(join(folder, 'go.mod')))
    execFileSync('go', ['mod', 'init', 'stranger'], { cwd: folder, stdio: 'ignore' });
  const generate = ['-generate', 'types,client', '-package', 'sluice', '-o', 'client/client.go'];
  return (
    (await run(join(peers, 'go_bin/oapi-codegen'), [...generate, schema], folder)) &&
    (await run('go', ['mod', 'tidy'], folder)) &&
    (await run('go', ['run', '.', '../go.json'], folder))
  );
}

async function typescript(schema: string, plan: Plan): Promise<boolean> {
  const folder = join(peers, 'typescript');
  mkdirSync(folder, { recursive: true });
  if (!existsSync(join(folder, 'node_modules/openapi-fetch'))) {
    writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
    const install = ['install', '--silent', '--ignore-scripts', '--save-exact'];
    execFileSync('npm', [...install, ...versions.typescript], { cwd: folder, stdio: 'inherit' });
  }
  rmSync(join(folder, 'stranger.js'), { force: true });
  writeFileSync(join(folder, 'stranger.ts'), typescriptText(plan));
  const bin = (name: string) => join(folder, 'node_modules/.bin', name);
  // A body may omit a field that has a default.
  const optional = ['--default-non-nullable', 'false'];
  const flags = ['--strict', '--target', 'es2022', '--module', 'nodenext', '--skipLibCheck'];
  return (
    (await run(bin('openapi-typescript'), [schema, '-o', 'schema.d.ts', ...optional], folder)) &&
    (await run(bin('tsc'), [...flags, 'stranger.ts'], folder)) &&
    (await run(process.execPath, ['stranger.js'], folder))
  );
}

/**
 * Returns a program with each call written out, so that the compiler checks it against the types.
 */
function typescriptText({ address, key, calls }: Plan): string {
  const written = calls.map(({ id, method, path, parameters, body, status }) => {
    const isThere = Object.keys(parameters).length > 0;
    const options = JSON.stringify({
      ...(isThere && { params: { path: parameters } }),
      ...(body !== undefined && { body }),
    });
    const call = `client.${method}(${JSON.stringify(path)}, ${options})`;
    return `await check('${id}', ${status}, ${call});`;
  });
  return `import createClient from 'openapi-fetch';
import type { paths } from './schema.js';

const headers = { Authorization: 'Bearer ${key}' };
const client = createClient<paths>({ baseUrl: '${address}', headers });
let faults = 0;

async function check(
  id: string,
  status: number,
  call: Promise<{ data?: unknown; error?: unknown; response: Response }>,
): Promise<void> {
  const { data, error, response } = await call;
  if (response.status === status && (status === 204 || data !== undefined)) return;
  faults += 1;
  console.log(\`\${id}: answered \${response.status}: \${JSON.stringify(error)}\`);
}

${written.join('\n')}
console.log(\`TypeScript: ${calls.length} calls, \${faults} faults\`);
process.exit(faults === 0 ? 0 : 1);
`;
}
