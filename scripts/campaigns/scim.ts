// Lets the public SCIM tester (scim2-tester, PyPI) and a client made of scim2-client ask a server
// of this checkout: npm run scim [-- --python python3]
// Installs both into peers/scim/ once. Prints each check; exit code 1 for an error that
// docs/scim.md ("Verified against") does not explain.
import { execFile } from 'node:child_process';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { newDirectory } from '../../test/factories/people/directories.ts';
import { openHarness } from '../../test/harness.ts';
import { readOptions } from '../options.ts';
import { installPython } from '../peer.ts';

type Check = { kind: string; resource: string; title: string; status: string; reason: string };

/** The newest version of the tester, and the last versions of its packages that work with it. */
const packages = [
  'scim2-tester==0.2.8',
  'scim2-client==0.7.5',
  'scim2-models==0.6.12',
  'httpx==0.28.1',
];

/** The errors that the page explains: the place, and the tester's words. */
const explained: { title: string; reason: RegExp }[] = [
  {
    title: 'check_add_attribute',
    reason: /^Attribute 'members' .*Patched value: .*display=None.*Returned value: .*display='/s,
  },
  {
    title: 'check_replace_attribute',
    reason: /^Attribute 'members' .*Patched value: .*display=None.*Returned value: .*display='/s,
  },
  { title: 'check_remove_attribute', reason: /^Attribute 'members' was not removed$/ },
];

const run = promisify(execFile);
const { python } = readOptions({ python: 'python3' });
const port = await freePort();
const public_url = `http://127.0.0.1:${port}`;
const harness = await openHarness({ clickhouse: false, config: { public_url } });
try {
  const interpreter = await installPython('scim', packages, python);
  await harness.app.listen({ host: '127.0.0.1', port });
  const { domain, token } = await newDirectory(harness);
  const script = join(import.meta.dirname, 'scim', 'tester.py');
  const base_url = `${public_url}/scim/v2/${domain.id}`;
  const { stdout } = await run(interpreter, [script, base_url, token, domain.domain]);
  const checks = stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Check);
  for (const check of checks) console.log(lineOf(check));
  const wrong = checks.filter((check) => isWrong(check) && !isExplained(check));
  const errors = checks.filter(isWrong).length;
  console.log(
    `${packages.join(' ')}: ${checks.length} checks, ${errors} errors, ` +
      `${wrong.length} of them not explained`,
  );
  process.exitCode = wrong.length === 0 && checks.length > 0 ? 0 : 1;
} finally {
  await harness.close();
}

/**
 * Returns a free port. Answers contain the server's public URL, so the port is needed before the
 * start.
 */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function isWrong({ status }: Check): boolean {
  return !['SUCCESS', 'COMPLIANT', 'ACCEPTABLE', 'SKIPPED'].includes(status);
}

function isExplained({ title, reason }: Check): boolean {
  return explained.some((one) => one.title === title && one.reason.test(reason));
}

function lineOf(check: Check): string {
  const { kind, status, resource, title, reason } = check;
  const note = !isWrong(check) ? '' : isExplained(check) ? ' (explained)' : `\n    ${reason}`;
  return [kind, status.padEnd(10), resource.padEnd(5), `${title}${note}`].join('  ');
}
