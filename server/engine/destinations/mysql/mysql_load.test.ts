import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  deliverText,
  freshDelivery,
  isLasting,
} from '../../../../test/factories/batch_exports/deliveries.ts';
import {
  onMariaDb,
  deps,
  freshConfig,
  inDatabase,
  rows,
  run,
} from '../../../../test/destinations/mysql_contract_world.ts';
import type { Column } from '../../model/models/column.ts';
import type { MySqlConfig } from './config.ts';
import { mysql } from './mysql.ts';

const columns: Column[] = [
  { name: 'n', type: 'integer', nullable: true, expression: 'n' },
  { name: 'note', type: 'text', nullable: true, expression: 'note' },
];

const deliver = (config: MySqlConfig, text: string) =>
  deliverText(mysql, { config, delivery: freshDelivery({ columns }), deps }, text);

/** The numbers of loads and inserts that the server has had. */
async function statements(): Promise<{ loads: number; inserts: number }> {
  const found = await rows<{ Variable_name: string; Value: string }>(
    "SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_load', 'Com_insert')",
  );
  const counts = new Map(found.map((one) => [one.Variable_name, Number(one.Value)]));
  return { loads: counts.get('Com_load')!, inserts: counts.get('Com_insert')! };
}

onMariaDb(() => {
  test('rows are loaded with every character, form feeds inserted', async () => {
    const config = await freshConfig();
    const before = await statements();
    const notes = ["it\\'s", 'a\\tb\\nc\\rd\\0e\\bf', '\\\\N', '\\\\\\\\f', '"é😀,', ''];
    await deliver(config, `${notes.map((note, n) => `${n}\t${note}`).join('\n')}\n7\t\\N\n`);
    const loaded = await statements();
    assert.equal(loaded.loads - before.loads, 1);
    await deliver(config, '8\tform\\ffeed\n');
    const inserted = await statements();
    assert.equal(inserted.loads, loaded.loads);
    const found = await rows<{ note: string | null }>(
      `SELECT note FROM ${inDatabase(config)} ORDER BY n`,
    );
    assert.deepEqual(
      found.map(({ note }) => note),
      ["it's", 'a\tb\nc\rd\0e\bf', '\\N', '\\\\f', '"é😀,', '', null, 'form\ffeed'],
    );
  });

  test('a load of which the server warns is taken back and refused', async () => {
    const cases: [string, string, string][] = [
      ['n tinyint, note text', '1000\ta\n', 'value_refused'],
      ['n int, note text', 'x\ta\n', 'value_refused'],
      ['n int, note varchar(3)', '1\tabcd\n', 'value_refused'],
      ['n int NOT NULL, note text', '\\N\ta\n', 'constraint_violated'],
      ['n int UNIQUE, note text', '1\ta\n', 'constraint_violated'],
      ['n int CHECK (n < 2), note text', '2\ta\n', 'constraint_violated'],
      ['n int, note text, own int NOT NULL', '1\ta\n', 'table_unsuitable'],
    ];
    for (const [table, line, code] of cases) {
      const config = await freshConfig();
      await run(`CREATE TABLE ${inDatabase(config)} (${table}) CHARACTER SET utf8mb4`);
      // Twice, which is one too many for a key.
      await assert.rejects(deliver(config, `1\tok\n${line}`), isLasting(code), table);
      assert.deepEqual(await rows(`SELECT 1 FROM ${inDatabase(config)}`), [], table);
    }
  });

  test('a server that takes no loads gets INSERTs', async () => {
    const config = await freshConfig();
    await run('SET GLOBAL local_infile = 0');
    try {
      const before = await statements();
      await deliver(config, '1\ta\n');
      assert.equal((await statements()).loads, before.loads);
    } finally {
      await run('SET GLOBAL local_infile = 1');
    }
    assert.deepEqual(await rows(`SELECT n, note FROM ${inDatabase(config)}`), [
      { n: 1, note: 'a' },
    ]);
  });
});
