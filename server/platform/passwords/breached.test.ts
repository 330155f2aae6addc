import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { other_password, password } from '../../../test/factories/people/people.ts';
import { root } from '../../../test/house/source_files.ts';
import { randomBase62 } from '../http/caller/api_key.ts';
import { breached_list, isBreached } from './breached.ts';
import { newPasswordFault } from './new_password.ts';

test('a stolen password is known in any spelling and with additions', async () => {
  for (const stolen of [
    'q1w2e3r4t5y6',
    'Q1W2E3R4T5Y6',
    'liverpoolfc1',
    'Liverpool-FC-1!',
    '2024chicagobulls',
    'silversurfer',
    '..XrlQIyEopco',
    // The first line of the list and its last.
    '123456',
    'vjht008',
  ])
    assert.equal(await isBreached(stolen), true, stolen);
  for (const unknown of [
    password,
    other_password,
    'vTq8#mZr2!pL',
    'chicagobulls837261',
    '窓の外に',
    '..',
  ])
    assert.equal(await isBreached(unknown), false, unknown);
  for (let round = 0; round < 20; round += 1)
    assert.equal(await isBreached(randomBase62().slice(0, 16)), false);
});

test('the passwords that the review found are refused, with advice', async () => {
  for (const taken of ['liverpoolfc1', 'q1w2e3r4t5y6', 'correct horse battery'])
    assert.match((await newPasswordFault(taken, []))!, /Use several unrelated words/, taken);
  assert.equal(await newPasswordFault(password, []), undefined);
});

test('every line is found, wherever the pieces end that the list is read in', async () => {
  const list = await readFile(fileURLToPath(import.meta.resolve(breached_list)));
  const ends = Array.from({ length: 15 }, (_, number) => (number + 1) * 512 * 1024 - 1);
  for (const end of ends) {
    const from = list.lastIndexOf('\n', end) + 1;
    const line = list.subarray(from, list.indexOf('\n', from)).toString();
    assert.equal(await isBreached(line), true, line);
  }
});

test('the page on passwords says how long the list is', async () => {
  const list = await readFile(fileURLToPath(import.meta.resolve(breached_list)), 'utf8');
  const lines = list.trimEnd().split('\n');
  const long = lines.filter((line) => line.length >= 12);
  const page = await readFile(join(root, 'docs/users_and_sessions.md'), 'utf8');
  for (const count of [lines.length, long.length])
    assert.ok(page.includes(count.toLocaleString('en')), `${count} in docs/users_and_sessions.md`);
});
