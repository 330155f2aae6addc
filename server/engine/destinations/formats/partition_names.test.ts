import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fileDelivery } from '../../../../test/factories/batch_exports/file_deliveries.ts';
import { folderText, isOfStem, parseDeliveryName, sliceName, stemOf } from './naming.ts';

const csv = { format: 'CSV', compression: 'gzip' } as const;
const timezone = 'UTC';

test('the folders of a partition stand before the name, which says how many they are', () => {
  const named = (partition: object) =>
    sliceName(
      'a/{table}',
      fileDelivery(),
      { number: 7, partition: { timezone, ...partition } },
      csv,
    );
  const stem = '20150911T233000Z-20150912T000000Z-0123456789ab';
  assert.equal(
    named({ date: '2015-09-11', event: '$pageview' }),
    `a/events/dt=2015-09-11/event=%24pageview/${stem}-p2-0007.csv.gz`,
  );
  assert.equal(
    named({ event: null }),
    `a/events/event=__HIVE_DEFAULT_PARTITION__/${stem}-p1-0007.csv.gz`,
  );
  assert.equal(folderText('a/b=c %é🙂~_.-\n'), 'a%2Fb%3Dc%20%25é🙂~_.-%0A');
});

test('the stem follows from every name, also below a prefix with folders of its own', () => {
  const part = fc.constantFrom('x', 'dt=2015-09-11', 'event=a', 'day={local_day}');
  const text = fc.option(fc.string({ unit: 'grapheme', minLength: 1 }), { nil: null });
  const partition = fc.oneof(
    fc.constant(undefined),
    fc.record({
      date: fc.constantFrom('2015-09-11', null),
      event: text,
      timezone: fc.constant('UTC'),
    }),
    fc.record({ event: text, timezone: fc.constant('UTC') }),
  );
  fc.assert(
    fc.property(
      fc.array(part, { maxLength: 4 }),
      partition,
      fc.nat(20_000),
      (parts, given, number) => {
        const prefix = parts.join('/');
        const slice = given === undefined ? { number } : { number, partition: given };
        const name = sliceName(prefix, fileDelivery(), slice, csv);
        const stem = stemOf(prefix, fileDelivery());
        assert.equal(parseDeliveryName(name)?.stem, stem);
        assert.ok(isOfStem(name, stem));
        assert.ok(!isOfStem(name, `x/${stem}`));
      },
    ),
  );
});

test('a name with fewer folders than it says is none of ours', () => {
  const name = '20150911T233000Z-20150912T000000Z-0123456789ab-p2-0007.avro';
  for (const folder of ['', 'dt=2015-09-11/', 'a/dt=2015-09-11/'])
    assert.equal(parseDeliveryName(`${folder}${name}`), undefined);
});
