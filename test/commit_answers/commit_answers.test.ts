import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { inTurn } from '../depth.ts';
import { mariaDbMissing } from '../servers/databases/mariadb_server.ts';
import { openQueryHarness } from '../factories/batch_exports/query_exports.ts';
import type { QueryHarness } from '../factories/batch_exports/query_exports.ts';
import { commitsMarkdown, openCommits } from './commits.ts';
import type { CommitCase } from './commits.ts';
import { openClickHouseCommits } from './clickhouse_commits.ts';
import { openMySqlCommits } from './mysql_commits.ts';
import { openPostgresCommits, openRedshiftCommits } from './postgres_commits.ts';
import { openBigQueryCommits, openSnowflakeCommits } from './warehouse_commits.ts';

/** One of this many answers comes in a run. */
const turns = 8;

let exporting: QueryHarness;
let cases: CommitCase[];
const closing: (() => Promise<void>)[] = [];
before(async () => {
  exporting = await openQueryHarness();
  const opened = await Promise.allSettled([
    openPostgresCommits(),
    openRedshiftCommits(),
    openMySqlCommits(),
    openSnowflakeCommits(),
    openBigQueryCommits(),
    openClickHouseCommits(),
  ]);
  const worlds = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  closing.push(...worlds.map(({ close }) => close));
  for (const one of opened) if (one.status === 'rejected') throw one.reason;
  cases = worlds.flatMap((one) => one.cases);
});
after(async () => {
  for (const close of closing) await close();
  await exporting.close();
});

test(
  'whatever a commit is answered, the run and the ledger say what docs/commit_answers.md says, ' +
    'and the next backfill leaves every row there once',
  async (context) => {
    const commits = await openCommits(exporting);
    for (const one of inTurn(cases, turns)) {
      const name = `${one.destination}: ${one.answer}, ${one.server}`;
      await context.test(name, () => commits.happen(one));
    }
    const page = await readFile(
      new URL('../../docs/commit_answers.md', import.meta.url),
      'utf8',
    ).catch(() => '');
    const table = commitsMarkdown(cases);
    const shown = page
      .split('\n')
      .filter((line) => mariaDbMissing === undefined || !line.startsWith('| MySQL |'));
    assert.ok(
      shown.join('\n').includes(table),
      `docs/commit_answers.md is not current; it is now:\n${table}`,
    );
  },
);
