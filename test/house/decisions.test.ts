import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from './source_files.ts';

const folder = join(root, 'docs/decisions');
const index_name = 'README.md';
const sections = ['Context', 'Decision', 'Measured', 'Consequences'];
const sections_required = ['Context', 'Decision', 'Consequences'];
const replaced_form = /^replaced (?:in part )?by \d{4} \([^()]+\)(?:, \d{4} \([^()]+\))*$/;

type Page = { name: string; number: string; title: string; status: string; text: string };

function pageOf(name: string, text: string): Page {
  return {
    name,
    number: name.slice(0, 4),
    title: /^# \d{4} (.+)\n/.exec(text)?.[1] ?? '',
    status: /^Status: (.+)$/m.exec(text)?.[1] ?? '',
    text,
  };
}

/** Lists a page's differences from the form of docs/decisions/README.md, a sentence each. */
function faultsOf({ name, number, title, status, text }: Page): string[] {
  const headings = [...text.matchAll(/^## (.+)$/gm)].map((match) => match[1]!);
  const faults: [boolean, string][] = [
    [!/^\d{4}_[a-z0-9_]+\.md$/.test(name), 'name it NNNN_full_words_in_snake_case.md'],
    [
      !text.startsWith(`# ${number} `) || /[.:]$/.test(title),
      `begin it with \`# ${number} Title that says what holds\`, without a full stop`,
    ],
    [
      !/^# .+\n\nDate: \d{4}-\d{2}-\d{2}\nStatus: .+\n\n## /.test(text),
      'write `Date: YYYY-MM-DD` and `Status: ...` in two lines below the title, then the sections',
    ],
    [
      status !== 'holds' && !replaced_form.test(status),
      'write `Status: holds`, or `replaced by NNNN (what replaced it)`, or `replaced in part ' +
        'by ...`',
    ],
    ...sections_required.map((section): [boolean, string] => [
      !headings.includes(section),
      `write its section \`## ${section}\``,
    ]),
    [
      headings.join() !== sections.filter((section) => headings.includes(section)).join(),
      `let its sections be ${sections.join(', ')}, each once and in this order`,
    ],
  ];
  return faults.flatMap(([isFault, advice]) => (isFault ? [`${name}: ${advice}.`] : []));
}

/** A page's entry of the index, in one line. */
function entryOf({ name, number, title, status }: Page): string {
  return `- [${number}](${name}) ${title}: ${status}`;
}

const pages = readdirSync(folder)
  .filter((name) => name !== index_name)
  .sort()
  .map((name) => pageOf(name, readFileSync(join(folder, name), 'utf8')));

test('every page of a decision has the one form', () => {
  assert.deepEqual(pages.flatMap(faultsOf), []);
});

test('no two decisions have one number, and what replaces a page exists', () => {
  const numbers = pages.map(({ number }) => number);
  const repeated = numbers.filter((number, index) => numbers.indexOf(number) !== index);
  assert.deepEqual(repeated, [], 'Give the younger page the next free number.');
  const unknown = pages.flatMap(({ name, number, status }) =>
    [...status.matchAll(/\b(\d{4}) \(/g)]
      .map((match) => match[1]!)
      .filter((other) => other === number || !numbers.includes(other))
      .map((other) => `${name}: its status names ${other}, which is no other page.`),
  );
  assert.deepEqual(unknown, []);
});

test('the index lists each page with its title and status, in the order of their numbers', () => {
  // An entry may be wrapped: its further lines are indented.
  const text = readFileSync(join(folder, index_name), 'utf8').replaceAll(/\n {2,}/g, ' ');
  assert.deepEqual(
    text.split('\n').filter((line) => line.startsWith('- [')),
    pages.map(entryOf),
    `Write these entries in docs/decisions/${index_name}.`,
  );
});

test('the rule itself: what a page is told', () => {
  const right =
    '# 0099 What holds\n\nDate: 2026-01-02\nStatus: holds\n\n## Context\n\nA.\n\n## ' +
    'Decision\n\nB.\n\n## Consequences\n\nC.\n';
  assert.deepEqual(faultsOf(pageOf('0099_what_holds.md', right)), []);
  const wrong: [string, string, RegExp][] = [
    ['0099-what-holds.md', right, /snake_case/],
    ['0098_what_holds.md', right, /`# 0098 Title/],
    ['0099_what_holds.md', right.replace('# 0099 ', '# 99. '), /`# 0099 Title/],
    ['0099_what_holds.md', right.replace('Date: 2026-01-02\n', ''), /`Date: YYYY-MM-DD`/],
    ['0099_what_holds.md', right.replace(': holds', ': replaced by 0100'), /`Status: holds`/],
    ['0099_what_holds.md', right.replace('## Consequences', '## After'), /`## Consequences`/],
    ['0099_what_holds.md', right.replace('## Decision', '## Notes\n\n## Decision'), /this order/],
  ];
  for (const [name, text, advice] of wrong)
    assert.match(faultsOf(pageOf(name, text)).join('\n'), advice);
});
