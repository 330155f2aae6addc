import assert from 'node:assert/strict';
import { test } from 'node:test';
import { v5 } from 'uuid';
import { countProcessorTime } from '../../../../test/processor_time.ts';
import { namespaceOf, nameUuid } from './create_uuid.ts';
import { parseEvent } from './parse.ts';

const now = Date.parse('2026-05-01T12:00:00.123Z');
const uuid = '0190163d-8694-739b-aea5-966c26f8ad91';

function row(fields: string) {
  const read = parseEvent(
    `{"event":"e","distinct_id":"d"${fields === '' ? '' : `,${fields}`}}`,
    now,
  );
  assert.equal(read.problems, undefined, JSON.stringify(read.problems));
  return read.event;
}

test('timestamps with any zone are stored in UTC with microseconds', () => {
  const cases: [string, string][] = [
    ['2024-05-01T12:00:00Z', '2024-05-01 12:00:00.000000'],
    ['2024-05-01t12:00:00.1234567z', '2024-05-01 12:00:00.123456'],
    ['2024-05-01 12:00:00.5+02:00', '2024-05-01 10:00:00.500000'],
    ['2024-03-01T00:30:00.000001+0100', '2024-02-29 23:30:00.000001'],
    ['2024-05-01T12:00-05', '2024-05-01 17:00:00.000000'],
    ['1970-01-01T00:00:00Z', '1970-01-01 00:00:00.000000'],
    ['2200-12-31T23:59:59.999999Z', '2200-12-31 23:59:59.999999'],
  ];
  for (const [sent, stored] of cases)
    assert.equal(row(`"timestamp":"${sent}"`).timestamp, stored, sent);
  assert.equal(row('').timestamp, '2026-05-01 12:00:00.123000');
});

test('numbers come out exactly as they were sent, however large or fine', () => {
  const properties = [
    '9007199254740993',
    '12345678901234567890',
    '-0.12345678901234567890123',
    '12345678.123456789',
    '1e400',
    '1.5E-999',
    '1.0',
    '-0.0',
    '1.10',
    '1e5',
    '[1,18446744073709551615]',
    '{"a":{"b":98765432109876543210}}',
  ];
  for (const value of properties)
    assert.equal(row(`"properties":{"n":${value}}`).properties, `{"n":${value}}`);
  assert.equal(
    row('"properties":{"id":"12345678901234567890", "small": 1.5e3}').properties,
    '{"id":"12345678901234567890","small":1.5e3}',
  );
});

test('texts are kept, half characters become the replacement character', () => {
  assert.equal(
    row(
      String.raw`"properties":{"\ud800":"a\ud800b","ok":"\ud83d\ude00","nul":"\u0000","__proto__":{"x":1}}`,
    ).properties,
    String.raw`{"�":"a�b","ok":"😀","nul":"\u0000","__proto__":{"x":1}}`,
  );
});

test('$set and $set_once stand beside or inside the properties', () => {
  const event = row('"properties":{"$set":{"a":1,"b":1},"x":2},"$set":{"b":2},"$set_once":{"c":3}');
  assert.equal(event.properties, '{"$set":{"a":1,"b":2},"x":2,"$set_once":{"c":3}}');
  assert.deepEqual([{ ...event.set }, { ...event.set_once }], [{ a: 1, b: 2 }, { c: 3 }]);
});

test('uuids are taken in any spelling or created', () => {
  assert.deepEqual(
    [row(`"uuid":"${uuid.toUpperCase()}"`).uuid, row(`"uuid":"${uuid}"`).is_uuid_given],
    [uuid, true],
  );
  const created = row('');
  assert.match(
    created.uuid,
    /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  );
  assert.equal(created.is_uuid_given, false);
  assert.equal(new Set(Array.from({ length: 5_000 }, () => row('').uuid)).size, 5_000);
});

test('unknown fields are ignored and names are trimmed', () => {
  const read = parseEvent('{"event":" a ","distinct_id":" d ","whatever":[1],"id":7}', now);
  assert.deepEqual(
    [read.event?.event, read.event?.distinct_id, read.event?.properties],
    ['a', ' d ', '{}'],
  );
});

test('everything that is wrong with an event is named', () => {
  const long = 'x'.repeat(401);
  const deep = `${'['.repeat(150)}${']'.repeat(150)}`;
  const cases: [string, [string | null, string][]][] = [
    ['nope', [[null, 'parse_error']]],
    ['[]', [[null, 'invalid_input']]],
    ['null', [[null, 'invalid_input']]],
    ['12345678901234567890', [[null, 'invalid_input']]],
    [
      '{}',
      [
        ['event', 'required'],
        ['distinct_id', 'required'],
      ],
    ],
    [
      '{"event":null,"distinct_id":""}',
      [
        ['event', 'null'],
        ['distinct_id', 'blank'],
      ],
    ],
    [
      '{"event":1,"distinct_id":12345678901234567890}',
      [
        ['event', 'invalid_input'],
        ['distinct_id', 'invalid_input'],
      ],
    ],
    [
      `{"event":"${long}","distinct_id":"${long}"}`,
      [
        ['event', 'max_length'],
        ['distinct_id', 'max_length'],
      ],
    ],
    [
      String.raw`{"event":"a\u0000","distinct_id":"a\u0000"}`,
      [
        ['event', 'invalid_input'],
        ['distinct_id', 'invalid_input'],
      ],
    ],
    ...[
      '"2024-05-01T12:00:00"',
      '"2024-02-30T12:00:00Z"',
      '"2024-05-01"',
      '"1969-12-31T23:59:59Z"',
      '"2201-01-01T00:00:00Z"',
      '"2024-05-01T25:00:00Z"',
      '"2024-05-01T12:00:00+24:00"',
      '1714564800',
      '""',
    ].map((timestamp): [string, [string, string][]] => [
      `{"event":"e","distinct_id":"d","timestamp":${timestamp}}`,
      [['timestamp', 'invalid_input']],
    ]),
    [
      '{"event":"e","distinct_id":"d","timestamp":null,"uuid":null,"properties":null}',
      [
        ['timestamp', 'null'],
        ['uuid', 'null'],
        ['properties', 'null'],
      ],
    ],
    [
      '{"event":"e","distinct_id":"d","uuid":"1","properties":[]}',
      [
        ['uuid', 'invalid_input'],
        ['properties', 'invalid_input'],
      ],
    ],
    [
      '{"event":"e","distinct_id":"d","properties":null,"$set":1,"$set_once":{"a":1}}',
      [
        ['properties', 'null'],
        ['$set', 'invalid_input'],
      ],
    ],
    [
      '{"event":"e","distinct_id":"d","$set":1,"properties":{"$set_once":"x"}}',
      [
        ['$set', 'invalid_input'],
        ['properties__$set_once', 'invalid_input'],
      ],
    ],
    [
      `{"event":"e","distinct_id":"d","properties":{"deep":${deep}}}`,
      [['properties', 'invalid_input']],
    ],
    [
      `{"event":"e","distinct_id":"d","properties":{"deep":${'[1e999,'.repeat(100_000)}1${']'.repeat(100_000)}}}`,
      [[null, 'parse_error']],
    ],
  ];
  for (const [text, expected] of cases) {
    const { problems } = parseEvent(text, now);
    assert.deepEqual(
      problems?.map(({ attr, code }) => [attr, code]).toSorted(),
      expected.toSorted(),
      text.slice(0, 120),
    );
    for (const { detail } of problems ?? []) assert.match(detail, /^[A-Z].*\.$/);
  }
});

test('a text that only looks like a long number takes no quadratic time', () => {
  const size = 4_000_000;
  const texts = [
    `"${'1'.repeat(size)}x"`,
    `"${'1'.repeat(size)}"`,
    `"${' '.repeat(size)}1234567890123456"`,
    `"${'1e'.repeat(size / 2)}"`,
    `"1e${'1'.repeat(size)}x"`,
    `"${`:${'1'.repeat(17)}`.repeat(size / 18)}x"`,
    `"${`1e111${' '.repeat(50)}`.repeat(size / 55)}x"`,
    `"${'1'.repeat(20)}${' '.repeat(size)}x"`,
    `".${'0'.repeat(size)}x"`,
    `"${'.0'.repeat(size / 2)}"`,
    `"${'.0 '.repeat(size / 3)}"`,
    `"${`.0${' '.repeat(50)}`.repeat(size / 52)}"`,
    `"${':-0 '.repeat(size / 4)}"`,
  ];
  for (const text of texts) {
    const worked_ms = countProcessorTime();
    assert.ok(row(`"properties":{"n":${text}}`));
    assert.ok(worked_ms() < 1_000, text.slice(0, 40));
  }
});

test('a long number is exact wherever it stands', () => {
  const long = '12345678901234567890';
  for (const value of [
    `[${long}]`,
    `[1, ${long} ,2]`,
    `[[${long}],\n-${long}]`,
    `{"a":"x","b":\t${long}\n}`,
    `[1e400 ]`,
    `["${long}",${long}]`,
  ])
    assert.equal(
      row(`"properties":{"n":${value}}`).properties,
      `{"n":${value.replace(/\s/g, '')}}`,
    );
});

test('the uuid of a name is that of version 5, as everybody creates it', () => {
  const namespace = '8d7f1f3e-52c5-5a0b-9f6e-0c9b1d1f6a11';
  for (const name of ['', '1:ada', 'Zürich 😀', ...Array.from({ length: 50 }, (_, at) => `${at}`)])
    assert.equal(nameUuid(name, namespaceOf(namespace)), v5(name, namespace));
});
