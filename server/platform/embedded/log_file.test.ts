import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, statSync } from 'node:fs';
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openLogFile, shorten } from './log_file.ts';
import { folderAroundTests } from '../../../test/around_tests.ts';

const folder = folderAroundTests();

test('a log is set aside while its program keeps writing to it', () => {
  const path = join(folder, 'store.log');
  const { fd, close } = openLogFile(path);
  writeSync(fd, 'x'.repeat(100));
  shorten(path, 100);
  assert.equal(statSync(path).size, 100, 'it is not long yet');
  writeSync(fd, 'y');
  shorten(path, 100);
  writeSync(fd, 'later');
  appendFileSync(path, '!');
  assert.equal(readFileSync(path, 'utf8'), 'later!');
  assert.equal(readFileSync(`${path}.1`, 'utf8'), `${'x'.repeat(100)}y`);
  close();
});
