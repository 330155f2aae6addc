import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  attrsOf,
  newExport,
  noop_export,
  projectBase,
} from '../../../test/factories/batch_exports/batch_exports.ts';
import { places_cases } from '../../../test/factories/batch_exports/destination_places.ts';
import { destinations } from '../../engine/destinations/index.ts';
import { shareHome } from '../../../test/shared_home.ts';

const { home } = shareHome();

const attempt = (type: string, config: object) =>
  home.ask('POST', `${projectBase(home)}?validate_only=true`, {
    ...noop_export,
    destination: { type, config },
  });

/** The words of a sentence that are a compression of some kind. */
const named = (detail: string) => new Set(detail.match(/\b(gzip|brotli|zstd|snappy|lz4)\b/g) ?? []);

test('an unknown compression is answered with those of the destination and format', async () => {
  let tried = 0;
  for (const { type, config: schema } of destinations) {
    const { compression, file_format } = schema.properties as Record<string, { enum?: string[] }>;
    if (compression === undefined) continue;
    const { config } = places_cases.find((one) => one.type === type)!;
    for (const format of file_format?.enum ?? [undefined]) {
      const given = format === undefined ? config : { ...config, file_format: format };
      const refused = await attempt(type, { ...given, compression: 'rot13' });
      assert.deepEqual(attrsOf(refused), ['destination__config__compression invalid_choice']);
      const taken = new Set<string>();
      for (const one of ['gzip', 'brotli', 'zstd', 'snappy', 'lz4'])
        if ((await attempt(type, { ...given, compression: one })).status === 200) taken.add(one);
      assert.deepEqual(
        [...named(refused.body.detail)].toSorted(),
        [...taken].toSorted(),
        `${type} ${format}`,
      );
      tried += 1;
    }
  }
  assert.equal(tried, 17);
});

test('an unknown format is answered with the known ones, beside other faults', async () => {
  const { body } = await attempt('File', { prefix: '/', file_format: 'XML', compression: 'rot13' });
  assert.deepEqual(
    body.errors.map((one: { attr: string }) => one.attr.split('__').at(-1)).toSorted(),
    ['compression', 'file_format'],
  );
  const [detail] = body.errors.flatMap((one: { attr: string; detail: string }) =>
    one.attr.endsWith('compression') ? [one.detail] : [],
  );
  assert.match(detail, /JSONLines: gzip, brotli, zstd; Parquet: zstd, lz4, .*; CSV: gzip/);
  const both = await attempt('File', { prefix: '/', compression: 'snappy' });
  assert.deepEqual(attrsOf(both), [
    'destination__config__compression invalid_choice',
    'destination__config__prefix invalid_input',
  ]);
});

test('a change of format names the formats that the compression does not fit', async () => {
  const { id } = await newExport(home, {
    destination: {
      type: 'File',
      config: { prefix: '', file_format: 'Parquet', compression: 'lz4' },
    },
  });
  const answer = await home.ask('PATCH', `${projectBase(home)}${id}/`, {
    destination: { config: { file_format: 'CSV' } },
  });
  assert.match(
    answer.body.detail,
    /CSV cannot be compressed with lz4\. Use gzip, brotli, zstd or null/,
  );
});
