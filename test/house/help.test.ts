import assert from 'node:assert/strict';
import { posix } from 'node:path';
import { test } from 'node:test';
import { listSourceFiles } from './source_files.ts';

/** Returns the files that a file loads before its first line runs. */
function loadedBy(path: string, texts: Map<string, string>, found = new Set<string>()) {
  found.add(path);
  const text = texts.get(path) ?? '';
  for (const [, module = ''] of text.matchAll(/^import (?!type\b)[^;]*?'([^']+)';$/gm)) {
    const loaded = module.startsWith('.') ? posix.join(posix.dirname(path), module) : module;
    if (!found.has(loaded)) loadedBy(loaded, texts, found);
  }
  return found;
}

test('help loads the list of commands, and not what they do', () => {
  const texts = new Map(listSourceFiles().map(({ path, text }) => [path, text]));
  assert.deepEqual([...loadedBy('server/main.ts', texts)].sort(), [
    'commander',
    'node:fs',
    'node:path',
    'server/cli/backup_commands.ts',
    'server/cli/client_commands.ts',
    'server/cli/commands.ts',
    'server/cli/config_commands.ts',
    'server/cli/move_in_commands.ts',
    'server/cli/people/people_commands.ts',
    // Help into a pipe that is closed ends well too.
    'server/cli/process/lost_output.ts',
    'server/main.ts',
    'server/platform/version.ts',
  ]);
});

test('a server loads what few servers need when it is used first', () => {
  const texts = new Map(listSourceFiles().map(({ path, text }) => [path, text]));
  const loaded = loadedBy('server/cli/serve.ts', texts);
  assert.ok(loaded.has('fastify'));
  for (const name of [
    '@node-saml/node-saml',
    '@aws-sdk/client-s3',
    'nodemailer',
    'email-providers/all.json',
    'tldts',
  ])
    assert.ok(!loaded.has(name), `${name} is 100 modules, or a long list: see decision 0068`);
});
