// Lets the official conformance suite of MCP (@modelcontextprotocol/conformance, npm) ask `/mcp`
// and the sign-in of assistants of this checkout:
// npm run mcp_conformance [-- --only server-initialize]
// Installs the suite into peers/mcp_conformance/ once. Prints each check; exit code 1 for a failure
// that is not explained here.
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { createServer, request as send } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { letIn, newAssistant, signedIn } from '../../test/factories/assistants.ts';
import { openHarness } from '../../test/harness.ts';
import type { Harness } from '../../test/harness.ts';
import { root } from '../child.ts';
import { readOptions } from '../options.ts';

type Check = { id: string; name: string; status: string; errorMessage?: string };
type Outcome = { of: string; scenario: string; checks: Check[] };

const suite = '@modelcontextprotocol/conformance@0.2.0-alpha.12';
const revisions = ['2025-11-25', '2026-07-28'];

/** Scenarios that need the suite's own tools, texts or prompts, which no product has. */
const fixtures =
  /^(?:tools-call-|json-schema-2020-12|elicitation-|resources-|prompts-|completion-|logging-|input-required-|caching|http-custom-header|tasks-)/;

/** Checks of other scenarios that fail, and why. */
const explained: Record<string, string> = {
  'sep-2575-server-rejects-undeclared-capability': 'needs a tool of the suite',
  'sep-2575-missing-capability-http-400': 'needs a tool of the suite',
  'sep-2575-http-server-no-independent-requests-on-stream': 'needs a tool of the suite',
  'sep-2575-server-no-log-without-loglevel': 'needs a tool of the suite',
  'sep-2575-server-sends-subscription-ack': 'Sluice has no subscriptions',
  'sep-2575-server-tags-subscription-id': 'Sluice has no subscriptions',
};

const { only } = readOptions({ only: '' });
const run = promisify(execFile);
const port = await freePort();
const public_url = `http://127.0.0.1:${port}`;
const results = await mkdtemp(join(tmpdir(), 'sluice-conformance-'));
const harness = await openHarness({ config: { public_url }, watch: false });
let door: Server | undefined;
try {
  const program = await install(join(root, 'peers', 'mcp_conformance'));
  await harness.app.listen({ host: '127.0.0.1', port });
  const home = await harness.newOrganization();
  const cookie = await harness.newSession(home.user);
  const { access_token } = await signedIn(harness, cookie, await newAssistant(harness));
  door = await openDoor(access_token);
  const { port: at } = door.address() as AddressInfo;
  const outcomes: Outcome[] = [];
  for (const revision of revisions) {
    const folder = join(results, revision);
    const chosen =
      only === ''
        ? ['--requirements', revision]
        : ['--scenario', only, '--spec-version', revision, '--force'];
    const asked = ['--url', `http://127.0.0.1:${at}/mcp`, ...chosen];
    await run(process.execPath, [program, 'server', ...asked, '-o', folder]).catch(() => undefined);
    outcomes.push(...(await outcomesIn(folder, revision)));
  }
  if (only === '') outcomes.push(...(await askForCode(program, cookie)));
  process.exitCode = tell(outcomes) ? 0 : 1;
} finally {
  door?.close();
  await harness.close();
  await rm(results, { recursive: true, force: true });
}

/** The suite's program, installed by npm in the folder. */
async function install(folder: string): Promise<string> {
  const program = join(folder, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
  if (existsSync(program)) return program;
  await mkdir(folder, { recursive: true });
  await run('npm', ['install', '--prefix', folder, '--ignore-scripts', '--no-save', suite]);
  return program;
}

/** A proxy of the server that adds the token to each request, because the suite sends none. */
async function openDoor(token: string): Promise<Server> {
  const opened = createServer((request, response) => {
    const headers = { ...request.headers, authorization: `Bearer ${token}` };
    // This path must not be the name of a page of the server.
    const { origin } = request.headers;
    if (origin?.startsWith('http://127.0.0.1') === true)
      delete (headers as typeof request.headers).origin;
    const { method, url } = request;
    const asked = send(`${public_url}${url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    request.pipe(asked);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => opened.once('listening', resolve));
  return opened;
}

/** Runs the scenarios of an authorization server; a person of the test gives the suite access. */
async function askForCode(program: string, cookie: string): Promise<Outcome[]> {
  const back = await freePort();
  const redirect_uri = `http://127.0.0.1:${back}/callback`;
  const { client_id } = await newAssistant(harness, { redirect_uri });
  const folder = join(results, 'authorization');
  const resource = `${public_url}/mcp`;
  const asked = ['--url', public_url, '--client-id', client_id, '--resource', resource];
  const args = [program, 'authorization', ...asked, '--port', String(back), '-o', folder];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const opened = followed(child.stdout, (address) => openedBy(harness, cookie, address));
  await new Promise((resolve) => child.once('close', resolve));
  await opened;
  return outcomesIn(folder, 'authorization');
}

/** Reads lines up to the address that a browser must open. */
async function followed(
  lines: AsyncIterable<Buffer>,
  open: (address: URL) => Promise<void>,
): Promise<void> {
  let said = '';
  let is_open = false;
  for await (const chunk of lines) {
    said += chunk.toString();
    const address = /^http\S+\/authorize\?\S+\n/m.exec(said)?.[0];
    if (is_open || address === undefined) continue;
    is_open = true;
    await open(new URL(address.trim()));
  }
}

/** Does the steps of the person and the browser. */
async function openedBy(server: Harness, cookie: string, address: URL): Promise<void> {
  const scopes = { scopes: ['project:read'] };
  const { body } = await letIn(server, cookie, Object.fromEntries(address.searchParams), scopes);
  await text((await fetch(body.redirect_url as string)).body!);
}

/** Returns the outcomes of a run, from the folders that the suite writes. */
async function outcomesIn(folder: string, of: string): Promise<Outcome[]> {
  const names = await readdir(folder, { recursive: true });
  return Promise.all(
    names
      .filter((name) => name.endsWith('checks.json'))
      .map(async (name) => ({
        of,
        scenario: name.split('/')[0]!.replaceAll(/^server-|-20\d\d-\d\d-\d\dT.*$/g, ''),
        checks: JSON.parse(await readFile(join(folder, name), 'utf8')) as Check[],
      })),
  );
}

/** Prints which checks passed and failed; returns false if a failure is not explained. */
function tell(outcomes: Outcome[]): boolean {
  let passed = 0;
  let unexplained = 0;
  for (const { of, scenario, checks } of outcomes) {
    const failed = checks.filter(({ status }) => status === 'FAILURE');
    const wrong = fixtures.test(scenario)
      ? []
      : failed.filter(({ id }) => explained[id] === undefined);
    unexplained += wrong.length;
    const is_tried = checks.some(({ status }) => status === 'SUCCESS');
    if (failed.length === 0 && is_tried) passed += 1;
    const without_failure = is_tried ? 'passes' : 'skipped';
    const verdict =
      failed.length === 0 ? without_failure : wrong.length === 0 ? 'explained' : 'FAILS';
    const count = `${checks.length - failed.length} of ${checks.length} checks`;
    console.log(`${verdict.padEnd(10)} ${of} ${scenario}: ${count}`);
    for (const { id, errorMessage } of failed)
      console.log(`  ${id}: ${explained[id] ?? errorMessage}`);
  }
  console.log(
    `${suite}: ${passed} of ${outcomes.length} scenarios pass, ` +
      `${unexplained} failures not explained`,
  );
  return outcomes.length > 0 && unexplained === 0;
}

/**
 * Returns a free port. Answers contain the server's public URL, so the port is needed before the
 * start.
 */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port: free } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return free;
}
