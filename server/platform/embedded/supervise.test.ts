import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { silentLog } from '../log.ts';
import { complaintIn } from './postgres/folder.ts';
import { supervise } from './supervise.ts';

test('a program that ends while it starts is reported with its complaint', async () => {
  const supervised = supervise({
    name: 'PostgreSQL',
    log: silentLog(),
    spawn: async () => spawn('false'),
    ready: () => new Promise(() => {}),
    complaint: () => 'FATAL: could not write: No space left on device',
    askToStop: (child) => child.kill(),
    stop_seconds: 1,
    start_seconds: 10,
    start_seconds_max: 0,
  });
  await assert.rejects(supervised, {
    message:
      'PostgreSQL ended while it was starting: ' +
      'FATAL: could not write: No space left on device',
  });
});

test('the complaint is PostgreSQL’s reason, not its answer to early clients', () => {
  const lines = [
    'LOG:  starting PostgreSQL',
    'FATAL:  the database system is starting up',
    'FATAL:  required WAL directory "pg_wal" does not exist',
    'LOG:  database system is shut down',
  ];
  assert.equal(complaintIn(lines.join('\n')), lines[2]);
});
