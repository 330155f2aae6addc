import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { findProgram } from '../embedded/programs.ts';
import { mayRaisePriority } from './process_priority.ts';

const module = JSON.stringify(new URL('process_priority.ts', import.meta.url).href);
const hasSessions = existsSync('/proc/self/autogroup');

/** Lowers a process of its own by 7, and its session by 9, and gives what they have then. */
async function lowered(detached: boolean): Promise<{ niceness: number; session: string }> {
  const program = `
    import { readFileSync } from 'node:fs';
    import { getPriority } from 'node:os';
    import { setTimeout as pause } from 'node:timers/promises';
    const { lowerPriority } = await import(${module});
    const read = () => readFileSync('/proc/self/autogroup', 'utf8').split('nice ')[1].trim();
    const before = read();
    lowerPriority(7, 9);
    for (let tries = 0; ${detached} && tries < 100 && read() === before; tries += 1)
      await pause(50);
    console.log(JSON.stringify({ niceness: getPriority(), session: read() }));
  `;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { detached });
  return JSON.parse(await text(child.stdout)) as { niceness: number; session: string };
}

test(
  'a process that leads its session lowers its priority with it',
  { skip: !hasSessions },
  async () => {
    assert.deepEqual(await lowered(true), { niceness: 7, session: '9' });
  },
);

test(
  'a process in a session of others leaves its priority alone',
  { skip: !hasSessions },
  async () => {
    const own = readFileSync('/proc/self/autogroup', 'utf8').split('nice ')[1]!.trim();
    assert.deepEqual(await lowered(false), { niceness: 7, session: own });
  },
);

const setpriv = findProgram('setpriv');
const canDrop = mayRaisePriority() && setpriv !== undefined;

test('the right is missed by who does not have it', { skip: !canDrop }, async () => {
  const without = ['--bounding-set=-sys_nice', '--inh-caps=-sys_nice', process.execPath];
  const program = `console.log((await import(${module})).mayRaisePriority())`;
  const child = spawn(setpriv!, [...without, '--input-type=module', '--eval', program]);
  assert.equal(await text(child.stdout), 'false\n');
});
