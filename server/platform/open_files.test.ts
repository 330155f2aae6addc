import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { apiErrorOf } from './http/error_handler.ts';
import { fewFiles, isOutOfFiles, open_files_wanted, openFilesLimit } from './open_files.ts';

const fault = (message: string, facts: object = {}) => Object.assign(new Error(message), facts);

test('a limit of open files is known by every error that says it', () => {
  const opened = fault('EMFILE: too many open files, open', { code: 'EMFILE' });
  const out = [
    opened,
    fault('connect ENFILE', { code: 'ENFILE' }),
    fault('out of file descriptors: Too many open files; release and retry', { code: '53000' }),
    fault('Cannot open file x, errno: 24, strerror: Too many open files', { code: '76' }),
    fault('it could not be read', { cause: opened }),
    new AggregateError([opened], ''),
  ];
  for (const error of out) {
    assert.equal(isOutOfFiles(error), true, error.message);
    const { status, violations } = apiErrorOf(error);
    assert.equal(status, 503);
    assert.match(violations[0]!.detail, /limit of open files/);
  }
  for (const error of [fault('other', { code: 'EACCES' }), undefined, 'EMFILE'])
    assert.equal(isOutOfFiles(error), false);
});

test('a low limit of open files is read from the system, and told with the number wanted', () => {
  // Only Linux tells the limit in a file.
  if (process.platform !== 'linux') return;
  const line = `import { fewFiles, openFilesLimit } from '${import.meta.dirname}/open_files.ts';
    console.log(fewFiles(openFilesLimit()));`;
  const words = ['-c', 'ulimit -n 256 && exec "$0" "$@"', process.execPath, '--input-type=module'];
  const said = execFileSync('/bin/sh', [...words, '-e', line], { encoding: 'utf8' });
  assert.match(said, /^only 256 files or .* needs up to 4096\. Raise the limit/);
  assert.equal(fewFiles(open_files_wanted), undefined);
  assert.equal(openFilesLimit(2 ** 30), undefined);
  assert.equal(fewFiles(undefined), undefined);
});
