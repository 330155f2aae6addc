import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { listSourceFiles, root } from './source_files.ts';
import {
  commentsOf,
  faultsOfComment,
  faultsOfHeading,
  faultsOfSentence,
  headingsOf,
  sentencesOf,
} from './voice.ts';

/** Pages that npm run docs:cli and docs:configuration write from the texts of the code. */
const generated = new Set(['cli.md', 'configuration.md']);

/** Pages that are lists of names and of changes. */
const lists = new Set(['ARCHITECTURE.md', 'CHANGELOG.md']);

/** Lists the pages that hold these rules. */
const pages = [
  ...readdirSync(root).filter((name) => name.endsWith('.md') && !lists.has(name)),
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md') && !generated.has(path))
    .toSorted()
    .map((path) => `docs/${path}`),
];

test('the pages of docs/ are found in all its folders', () => {
  for (const path of ['README.md', 'docs/destinations/postgres.md', 'docs/plugins/writing.md'])
    assert.ok(pages.includes(path), path);
});

for (const page of pages)
  test(`${page} is written in short sentences, without riddles`, () => {
    const text = readFileSync(join(root, page), 'utf8');
    const told = (of: (part: string) => string[]) => (part: string) =>
      of(part).map((fault) => `${fault}: ${part}`);
    const sentences = sentencesOf(text);
    assert.ok(sentences.length > 0);
    assert.deepEqual(sentences.flatMap(told(faultsOfSentence)), []);
    assert.deepEqual(headingsOf(text).flatMap(told(faultsOfHeading)), []);
  });

test('sentences are found between tables, code, headings and lists', () => {
  const text =
    '# Title\n\nOne `a. B` and [a link](x.md). Two\nlines?\n\n```sh\nNo. Code.\n```\n' +
    '| no | table |\n\n- an item\n  of two lines\n1. a step: Go.\n\n<!-- No. -->\n';
  assert.deepEqual(sentencesOf(text), [
    'One `code` and a link.',
    'Two lines?',
    'an item of two lines',
    'a step:',
    'Go.',
  ]);
  assert.deepEqual(headingsOf(text), ['Title']);
});

test('faults of a sentence: its length, its phrases, its first word', () => {
  const long = `${'word '.repeat(30)}word.`;
  assert.deepEqual(faultsOfSentence(long), ['31 words, at most 30']);
  assert.deepEqual(faultsOfSentence('word '.repeat(30)), []);
  assert.deepEqual(faultsOfSentence('Sluice retries a run that failed.'), []);
  for (const bad of [
    'Nothing of it is left.',
    'Rows that were taken in are final.',
    'The run is under way.',
    'Exports go on.',
    'Whoever restores it has it done again.',
    'What is stored stays.',
    'Of a person only the id stays.',
  ])
    assert.equal(faultsOfSentence(bad).length, 1, bad);
  assert.deepEqual(faultsOfSentence('What is a slot?'), []);
});

test('a heading is a noun or a command', () => {
  assert.deepEqual(faultsOfHeading('Check the signature'), []);
  for (const bad of ['What is stored', 'Who may change it', 'That is all'])
    assert.equal(faultsOfHeading(bad).length, 1, bad);
});

test('comments begin with a verb or a noun', () => {
  const faults = listSourceFiles().flatMap(({ path, text }) =>
    commentsOf(text).flatMap((comment) =>
      faultsOfComment(comment.text).map((fault) => `${path}:${comment.line} ${fault}`),
    ),
  );
  assert.deepEqual(faults, []);
});

test('a comment is read whole, and its first word is judged', () => {
  const source =
    '/** Locks the\n * row. */\nconst a = 1; // no\n\n// One\n// two\nlet b;\n/* C */\n';
  assert.deepEqual(commentsOf(source), [
    { line: 1, text: 'Locks the row.' },
    { line: 5, text: 'One two' },
    { line: 8, text: 'C' },
  ]);
  for (const bad of ['What is left', 'Whether it is locked', 'Of a run its id', 'So long it waits'])
    assert.equal(faultsOfComment(bad).length, 1, bad);
  assert.deepEqual(faultsOfComment('Returns what is left'), []);
});
