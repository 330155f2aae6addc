import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import semver from 'semver';
import { analyticsTablesRead } from '../../server/cli/doctor/migration_costs.ts';
import { readBackgroundMigrations } from '../../server/platform/background_migrations/files.ts';
import { release } from '../../server/platform/version.ts';
import { root } from './source_files.ts';

// Before this one there was no release that could be at work beside another.
const first_number = 26;

/**
 * Lists the words of a migration that may break a process of the previous release. Tables created
 * by the same file are exempt.
 */
function contractionsOf(text: string): string[] {
  const plain = text
    .replaceAll(/--.*$/gm, '')
    .replaceAll(/\$\$[\s\S]*?\$\$/g, "''")
    .replaceAll(/\s+/g, ' ');
  const own = new Set(
    [...plain.matchAll(/CREATE TABLE (?:IF NOT EXISTS )?(\w+)/gi)].map(([, table]) => table),
  );
  return plain.split(';').flatMap((statement) => {
    const table = /(?:ALTER TABLE|INDEX \w+ ON|INDEX IF NOT EXISTS \w+ ON) (?:ONLY )?(\w+)/i.exec(
      statement,
    )?.[1];
    if (table !== undefined && own.has(table)) return [];
    const parts = /^ *ALTER TABLE/i.test(statement) ? partsOf(statement) : [statement];
    return parts.filter((part) => isContraction(part, statement)).map((part) => part.trim());
  });
}

/** Splits an ALTER TABLE into its actions, at the commas outside of brackets. */
function partsOf(statement: string): string[] {
  let depth = 0;
  const parts = [''];
  for (const sign of statement) {
    if (sign === '(') depth += 1;
    if (sign === ')') depth -= 1;
    if (sign === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += sign;
  }
  return parts;
}

const taking = new RegExp(
  '^ *DROP\\b|\\b(?:DROP (?:COLUMN|TABLE|VIEW)|RENAME|SET NOT NULL|MODIFY COLUMN|TYPE \\w+|' +
    'ADD (?:CHECK|UNIQUE|PRIMARY|FOREIGN)|TRUNCATE|CREATE UNIQUE INDEX)\\b',
  'i',
);

function isContraction(part: string, statement: string): boolean {
  if (/^ *CREATE (?:TABLE|VIEW|FUNCTION|TRIGGER)\b/i.test(part)) return false;
  const added = /ADD CONSTRAINT (\w+)/i.exec(part)?.[1];
  // One of the same name in its place; that it lets more through is for the reader to see.
  if (added !== undefined) return !statement.includes(`DROP CONSTRAINT ${added}`);
  if (/\b(?:DROP (?:CONSTRAINT|INDEX|DEFAULT|NOT NULL|TRIGGER)|ADD VALUE)\b/i.test(part))
    return false;
  if (/\bADD COLUMN\b/i.test(part)) return /\bNOT NULL\b/i.test(part) && !/DEFAULT/i.test(part);
  return taking.test(part);
}

function oldestOf(head: string): string | undefined {
  return /^-- Oldest release: (.*)$/m.exec(head)?.[1];
}

/** Returns the fault of the line that keeps older processes from starting. */
function oldestFault(oldest: string, own: string): string | undefined {
  if (semver.valid(oldest) === null) return `"${oldest}" is no release, such as 0.2.0.`;
  return semver.gt(oldest, own)
    ? `${oldest} is later than this release, ${own}: raise that one, or nobody could start.`
    : undefined;
}

test('the oldest release is one that this server is or is later than', () => {
  const cases: [string, boolean][] = [
    ['-- Why.\n-- Oldest release: 0.2.0\n', true],
    ['-- Oldest release: 0.1.9\n', true],
    ['-- Oldest release: 0.3.0\n', false],
    ['-- Oldest release: the next\n', false],
  ];
  for (const [head, isRight] of cases)
    assert.equal(oldestFault(oldestOf(head)!, '0.2.0') === undefined, isRight, head);
  assert.equal(oldestOf('-- Why.\n'), undefined);
});

test('a migration only adds, or says from which release on processes can work beside it', () => {
  const paths = globSync(['migrations/*.sql', 'migrations/clickhouse/*.sql'], { cwd: root });
  const judged = paths.filter(
    (path) => path.includes('clickhouse') || Number(basename(path).slice(0, 4)) >= first_number,
  );
  assert.ok(judged.length >= 8);
  for (const path of judged) {
    const text = readFileSync(join(root, path), 'utf8');
    const head = /^(?:--.*\n)*/.exec(text)![0];
    const oldest = oldestOf(head);
    if (oldest !== undefined) {
      assert.equal(oldestFault(oldest, release), undefined, path);
      continue;
    }
    assert.deepEqual(
      contractionsOf(text),
      [],
      `${path}: processes of the release before run on beside it. Take away a release later than ` +
        'you stop using, and say "-- Oldest release: <the first that does without>" in its head.',
    );
  }
});

test('only a migration of PostgreSQL keeps older processes away', () => {
  for (const path of globSync('migrations/clickhouse/**/*.sql', { cwd: root }))
    assert.equal(
      oldestOf(readFileSync(join(root, path), 'utf8')),
      undefined,
      `${path}: nobody reads the line there. Put it into a migration of PostgreSQL.`,
    );
});

test('a statement that rewrites a table of ClickHouse is a background migration', () => {
  for (const path of globSync('migrations/clickhouse/*.sql', { cwd: root }))
    assert.deepEqual(
      analyticsTablesRead(readFileSync(join(root, path), 'utf8')),
      [],
      `${path}: no process starts meanwhile. Put it into migrations/clickhouse/background/.`,
    );
  readBackgroundMigrations(join(root, 'migrations/clickhouse/background'));
});

test('the check sees statements that remove or demand', () => {
  const cases: [string, number][] = [
    ['ALTER TABLE a ADD COLUMN b text; CREATE INDEX c ON a (b);', 0],
    ["ALTER TABLE a ADD COLUMN b text NOT NULL DEFAULT 'x' CHECK (b IN ('x', 'y'));", 0],
    ['ALTER TABLE a ADD COLUMN b text, ADD COLUMN c integer NOT NULL;', 1],
    ['ALTER TABLE a DROP COLUMN b;', 1],
    ['ALTER TABLE a DROP CONSTRAINT c, ADD CONSTRAINT c CHECK (b > 0);', 0],
    ['ALTER TABLE a ADD CONSTRAINT c CHECK (b > 0);', 1],
    ['ALTER TABLE a ALTER COLUMN b SET NOT NULL, RENAME c TO d;', 2],
    ['ALTER TABLE a ALTER COLUMN b TYPE bigint;', 1],
    ['ALTER TABLE a ALTER COLUMN b DROP NOT NULL;', 0],
    ['CREATE TABLE a (b text); CREATE UNIQUE INDEX c ON a (b);', 0],
    ['CREATE UNIQUE INDEX c ON a (b);', 1],
    ['-- DROP TABLE a;\nDROP TABLE b;', 1],
  ];
  for (const [text, found] of cases) assert.equal(contractionsOf(text).length, found, text);
});
