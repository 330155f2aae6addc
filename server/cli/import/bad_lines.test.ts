import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openImporting } from '../../../test/factories/events/importing.ts';
import { aroundTests } from '../../../test/around_tests.ts';

const importing = aroundTests(openImporting);

test('bad lines are named by number, whoever finds them, the others are imported', async () => {
  const owner = await importing.harness.newOrganization();
  const file = await importing.put(
    'bad.ndjson',
    '{"who":"a","at":"2024-01-01"}\nnope\n\n{"who":"","at":"2024-01-01"}\n' +
      '{"who":"b","at":"soon"}\n{"who":"c"}\n{"who":"d","at":"2024-13-01"}\n[]\n',
  );
  const { code, said, complained } = await importing.run(owner, file, {
    event_name: 'seen',
    distinct_id_field: 'who',
    timestamp_field: 'at',
  });
  assert.deepEqual(
    [code, said.at(-1)],
    [1, '1 event stored, 0 were there already, 6 lines refused.'],
  );
  assert.deepEqual(complained.map((line) => line.split(':')[0]).toSorted(), [
    'line 2',
    'line 4',
    'line 5',
    'line 6',
    'line 7',
    'line 8',
  ]);
  const all = await importing.run(
    owner,
    await importing.put('allbad.ndjson', '{}\n{"event":"e"}\n'),
  );
  assert.deepEqual(
    [all.code, all.said.at(-1)],
    [1, '0 events stored, 0 were there already, 2 lines refused.'],
  );
  assert.deepEqual(all.complained, [
    'line 1: event: This field is required.',
    'line 1: distinct_id: This field is required.',
    'line 2: distinct_id: This field is required.',
  ]);
});

test('lines without a distinct id get the default one, in any kind of file', async () => {
  const distinct_id_default = 'anonymous';
  const foreign = await importing.harness.newOrganization();
  const users =
    '{"n":1,"user":""}\n{"n":2,"user":null}\n{"n":3}\n{"n":4,"user":" ' +
    '"}\n{"n":5,"user":"ann"}\n{"n":6,"user":7}\n{"n":7,"user":{}}\n';
  const file = await importing.put('anonymous.ndjson', users);
  const { said, complained } = await importing.run(foreign, file, {
    event_name: 'edit',
    distinct_id_field: 'user',
    distinct_id_default,
  });
  assert.deepEqual(
    [said.at(-1), complained],
    [
      '6 events stored, 0 were there already, 1 line refused.',
      ['line 7: The field "user" is missing or empty.'],
    ],
  );
  const stored = (await importing.rows(foreign)).map((row): [number, string] => [
    JSON.parse(row.properties).n,
    row.distinct_id,
  ]);
  assert.deepEqual(
    stored.toSorted(([one], [other]) => one - other),
    [...[1, 2, 3, 4].map((n) => [n, distinct_id_default]), [5, 'ann'], [6, '7']],
  );
  const own = await importing.harness.newOrganization();
  await importing.run(
    own,
    await importing.put(
      'own.ndjson',
      '{"event":"e","properties":{"a":1}}\n{"event":"e","distinct_id":"d"}\n',
    ),
    { distinct_id_default },
  );
  assert.deepEqual(
    (await importing.rows(own)).map((row) => [row.distinct_id, row.properties]).toSorted(),
    [
      ['anonymous', '{"a":1}'],
      ['d', '{}'],
    ],
  );
});
