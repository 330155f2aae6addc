import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { agentOf, openAgent, protocol_modes } from '../../test/factories/agents.ts';
import type { Agent } from '../../test/factories/agents.ts';
import { newExport } from '../../test/factories/batch_exports/batch_exports.ts';
import { eventually } from '../../test/eventually.ts';
import { openHarness } from '../../test/harness.ts';
import type { TestOrganization } from '../../test/harness.ts';
import { leastEnvironment } from '../../test/processes/sluice_process.ts';
import { createApiKey } from '../platform/http/caller/api_key.ts';
import { readConfig } from '../config/config.ts';
import { silentLog } from '../platform/log.ts';
import { mcp } from './mcp.ts';
import { UserError } from './user_error.ts';
import { aroundTests } from '../../test/around_tests.ts';

const main = fileURLToPath(new URL('../main.ts', import.meta.url));

let home: TestOrganization;
let address: string;
const harness = aroundTests(
  () => openHarness({ clickhouse: false }),
  async (opened) => {
    home = await opened.newOrganization();
    address = await opened.app.listen({ port: 0, host: '127.0.0.1' });
  },
);

const environment = (key: string) => ({ ...leastEnvironment(), SLUICE_OWNER_API_KEY: key });

/** `sluice mcp` as a client starts it; the transcript is of its standard output. */
function started(): Promise<Agent> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [main, 'mcp', '--url', address],
    env: environment(home.key),
    stderr: 'pipe',
  });
  return openAgent(transport, []);
}

/** The same in this process, over two pipes. */
async function served(
  key: string,
  url = address,
  mode: (typeof protocol_modes)[number] = 'legacy',
): Promise<Agent> {
  const [asked, answered] = [new PassThrough(), new PassThrough()];
  const side = { input: asked, output: answered, stopped: () => new Promise(() => {}) };
  const context = { config: readConfig({}), log: silentLog(), say: assert.fail };
  const ended = mcp(context, { key, url }, side);
  const agent = await openAgent(new StdioServerTransport(answered, asked), [], mode);
  return {
    ...agent,
    close: async () => {
      await agent.close();
      asked.destroy();
      assert.equal(await ended, 0);
    },
  };
}

test('it serves what /mcp serves, to the official client in both revisions', async () => {
  const { id } = await newExport(home, { name: 'By stdio' });
  const web = await agentOf(harness, home.key);
  const [tools, found] = [
    await web.client.listTools(),
    await web.call('get_export', { export: id }),
  ];
  await web.close();
  for (const mode of protocol_modes) {
    const agent = await (mode === 'legacy' ? started() : served(home.key, address, mode));
    const shown = await agent.client.listTools();
    assert.deepEqual(shown.tools, tools.tools, mode);
    const { data } = await agent.call('get_export', { export: id });
    const { open, ...rest } = data;
    const { open: _open, ...wanted } = found.data;
    assert.deepEqual(rest, wanted);
    assert.equal(open, `${address}/projects/${home.project.id}/exports/${id}`);
    await agent.close();
  }
});

test('an organization that forbids writes by agents forbids them here too', async () => {
  const closed = await harness.newOrganization();
  const path = `/api/organizations/${closed.organization.id}/`;
  const forbid = async (forbids_agent_writes: boolean) => {
    const body = { forbids_agent_writes };
    const answer = await harness.request('PATCH', path, { key: closed.key, body });
    assert.equal(answer.status, 200, answer.text);
  };
  const agent = await served(closed.key);
  const apply = async () => {
    const { data } = await agent.call('plan_configuration', {
      configuration: { organization: { name: 'By an agent' } },
    });
    return agent.call('apply_configuration', { hash: data.hash });
  };
  await forbid(true);
  const refused = await apply();
  assert.equal(refused.data.status, 403);
  assert.match(refused.data.detail.untrusted_text, /does not let agents change anything/);
  await forbid(false);
  const allowed = await apply();
  assert.equal(allowed.is_error, false, allowed.text);
  await agent.close();
  const named = await harness.request('GET', path, { key: closed.key });
  assert.equal(named.body.name, 'By an agent');
});

test('a wrong key and a server that is away are reported in sentences', async () => {
  const wrong = await served(createApiKey());
  await assert.rejects(wrong.client.listTools(), /unknown, expired or revoked/);
  const { is_error, data } = await wrong.call('list_exports');
  assert.ok(is_error);
  assert.equal(data.status, 401);
  await wrong.close();
  const away = await served(home.key, 'http://127.0.0.1:9');
  await assert.rejects(away.client.listTools(), /127\.0\.0\.1:9 cannot be reached/);
  await away.close();
});

test('without a key or with no address it does not start', async () => {
  const context = { config: readConfig({}), log: silentLog(), say: assert.fail };
  const keyless = mcp(context, { url: 'http://127.0.0.1:9' });
  await assert.rejects(keyless, /There is no API key for .*sluice login/);
  await assert.rejects(
    mcp(context, { key: home.key, url: 'sluice' }),
    (error) => error instanceof UserError && /is not the address of a server/.test(error.message),
  );
});

test('a line that is no message gets a short error, and the next one works', async (context) => {
  const child = spawn(process.execPath, [main, 'mcp', '--url', address], {
    env: environment(home.key),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  context.after(() => child.kill());
  let [output, log] = ['', ''];
  child.stdout.on('data', (piece) => (output += String(piece)));
  child.stderr.on('data', (piece) => (log += String(piece)));
  const long = `{"jsonrpc":"2.0","id":1,"method":"${'x'.repeat(11 * 1024 * 1024)}"}`;
  const known = '{"jsonrpc":"2.0","id":7,"method":"ping"}';
  child.stdin.write(`hello\n\n{"jsonrpc":"2.0","id":5}\n[${known}]\n${long}\n${known}\n`);
  await eventually('The ping is not answered.', () => output.includes('"id":7'));
  child.stdin.end('cut off');
  assert.deepEqual(await once(child, 'close'), [0, null]);
  const answers = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    answers.map(({ id, error }) => [id, error?.code]),
    [
      [null, -32700],
      [null, -32600],
      [null, -32600],
      [null, -32600],
      [7, undefined],
    ],
  );
  assert.ok(output.length < 1_000, output);
  assert.equal(log, '');
});

test('it ends when the agent closes its side, and writes nothing unasked', async () => {
  const child = spawn(process.execPath, [main, 'mcp', '--url', address], {
    env: environment(home.key),
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.on('data', (piece) => (output += String(piece)));
  child.stdin.end();
  assert.deepEqual(await once(child, 'close'), [0, null]);
  assert.equal(output, '');
});
