import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { findProcess } from '../../../platform/embedded/programs.ts';
import { silentLog } from '../../../platform/log.ts';
import { sandboxProgram } from './program.ts';
import { startSandboxProcess } from './sandbox_process.ts';

// A process that was taken over, with the means that it then has.
const taken_over = (words: string) => `
  const server = new (require('node:net').Socket)({ fd: 3, readable: true, writable: true });
  const frame = (text) => {
    const head = Buffer.alloc(4);
    head.writeUInt32BE(Buffer.byteLength(text));
    return Buffer.concat([head, Buffer.from(text)]);
  };
  server.on('data', () => {});
  ${words}`;

const breaches: [string, string][] = [
  [
    'says something that is not a report',
    'server.write(frame(JSON.stringify({ type: "own", everything: true })));',
  ],
  [
    'says more than a report has',
    'server.write(frame(JSON.stringify({ type: "returned", instance: 1, call: 1, text: "", ' +
      'extra: 1 })));',
  ],
  ['says something that is not JSON', 'server.write(frame("{"));'],
  ['announces more than is taken', 'server.write(Buffer.from([0x7f, 0xff, 0xff, 0xff]));'],
  ['says a wrong number', 'server.write(frame(JSON.stringify({ type: "pong", size_bytes: -1 })));'],
  [
    'has grown too large',
    'server.write(frame(JSON.stringify({ type: "pong", size_bytes: 3e9 })));',
  ],
  ['falls silent', 'server.write(frame(JSON.stringify({ type: "pong", size_bytes: 1 })));'],
];

for (const [name, words] of breaches) {
  test(`a process that ${name} is ended, and its answers are not believed`, async () => {
    const program = await sandboxProgram();
    const reports: unknown[] = [];
    const child = startSandboxProcess(
      { ...program, child: taken_over(words), guest: '' },
      silentLog(),
      (report) => reports.push(report),
    );
    child.watch();
    await child.ended;
    assert.equal(child.is_alive, false);
    assert.deepEqual(reports, []);
  });
}

test('a process that reads nothing is ended before it fills the server', async () => {
  const words = `server.pause(); setInterval(() =>
    server.write(frame(JSON.stringify({ type: 'pong', size_bytes: 1 }))), 100);`;
  const program = await sandboxProgram();
  const child = startSandboxProcess(
    { ...program, child: taken_over(words), guest: '' },
    silentLog(),
    () => {},
  );
  const text = 'x'.repeat(30_000_000);
  for (let call = 0; child.is_alive && call < 20; call += 1)
    child.send({ type: 'call', instance: 1, call, method: 'onEvent', text });
  assert.equal(child.is_alive, false);
  await child.ended;
});

test('a process that floods the server is read slowly, and loses nothing', async () => {
  const count = 10_000;
  const words = `const one = frame(JSON.stringify({ type: 'where', instance: 1, stack: '' }));
    server.write(Buffer.concat(Array(${count}).fill(one)));`;
  const program = await sandboxProgram();
  let reports = 0;
  const began = performance.now();
  await new Promise<void>((resolve) => {
    const child = startSandboxProcess(
      { ...program, child: taken_over(words), guest: '' },
      silentLog(),
      () => {
        reports += 1;
        if (reports === count) resolve(child.kill());
      },
    );
  });
  // 2,000 in each 100 ms, and what one piece of the pipe holds beyond that.
  assert.ok(performance.now() - began > 150);
});

test('a process may not read, write or start anything', async () => {
  const attempts = [
    "require('node:fs').readFileSync('/etc/passwd')",
    "require('node:fs').writeFileSync('/tmp/sluice-escape', '')",
    "require('node:child_process').execSync('id')",
    "new (require('node:worker_threads').Worker)('1', { eval: true })",
  ];
  const tried = attempts.map(
    (attempt) =>
      `(() => { try { ${attempt}; return 'done'; } catch (error) { return error.code; } })()`,
  );
  const words = `const text = JSON.stringify([${tried.join(', ')}]) + JSON.stringify(process.env);
    server.write(frame(JSON.stringify({ type: 'returned', instance: 1, call: 1, text })));`;
  const program = await sandboxProgram();
  const text = await new Promise<string>((resolve) => {
    const child = startSandboxProcess(
      { ...program, child: taken_over(words), guest: '' },
      silentLog(),
      (report) => {
        resolve(report.type === 'returned' ? report.text : report.type);
        child.kill();
      },
    );
  });
  assert.equal(text, `${JSON.stringify(attempts.map(() => 'ERR_ACCESS_DENIED'))}{}`);
});

test('the process ends with the server that was killed', async () => {
  const here = (path: string) => JSON.stringify(fileURLToPath(new URL(path, import.meta.url)));
  const source = `
    import { openTestSandbox } from ${here('../../../../test/factories/plugins/plugin_sandbox.ts')};
    const { loadCode, sandbox } = await openTestSandbox();
    await loadCode('exports.onEvent = () => 1;');
    process.stdout.write(String(sandbox.pid));
    setInterval(() => {}, 1000);`;
  const server = spawn(process.execPath, ['--input-type=module', '-e', source], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [chunk] = (await once(server.stdout, 'data')) as [Buffer];
  const pid = Number(chunk.toString());
  assert.notEqual(await findProcess(pid), undefined);
  server.kill('SIGKILL');
  for (let turn = 0; turn < 200 && (await findProcess(pid)) !== undefined; turn += 1)
    await pause(25);
  assert.equal(await findProcess(pid), undefined);
});
