import assert from 'node:assert/strict';
import { appendFile, copyFile, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { folderAroundTests } from '../../../../test/around_tests.ts';
import { sourceOf } from '../../../../test/factories/batch_exports/content_sources.ts';
import { manifest } from '../../../../test/factories/batch_exports/deliveries.ts';
import {
  emptyRow,
  fileDelivery,
} from '../../../../test/factories/batch_exports/file_deliveries.ts';
import { silentLog } from '../../../platform/log.ts';
import { openOutbound } from '../../../platform/outbound/outbound.ts';
import { receiptsOfStem, stemOf } from '../formats/naming.ts';
import { file } from './file.ts';

const root = folderAroundTests();
const deps = {
  log: silentLog(),
  outbound: openOutbound({ allow: [] }),
  export_dir: root,
  signal: new AbortController().signal,
};

test('readers of a folder see rows alone: the receipt has a name that they skip', async () => {
  const sink = await file.open({ prefix: 'read' }, fileDelivery(), deps);
  await sink.commit([await emptyRow(sink)], manifest);
  const names = await readdir(join(root, 'read'), { recursive: true, withFileTypes: true });
  const shown = names.filter(
    (entry) => entry.isFile() && !/(^|\/)[._]/.test(join(entry.parentPath, entry.name)),
  );
  assert.deepEqual(
    shown.map(({ name }) => name.replace(/^.*\./, '')),
    ['jsonl'],
  );
});

test('a receipt under the name of earlier releases still counts', async () => {
  const config = { prefix: 'former' };
  const sink = await file.open(config, fileDelivery(), deps);
  const outcome = await emptyRow(sink);
  const { delivery_id, ...rest } = fileDelivery();
  const slices = [{ name: outcome.name }];
  const text = JSON.stringify({ version: 1, delivery_id, ...rest, batch_export_id: 'one', slices });
  await sink.commit([outcome], { name: 'manifest', text });
  const [name, former] = receiptsOfStem(stemOf('former', fileDelivery()));
  await rename(join(root, name), join(root, former));
  assert.equal(await sink.isCommitted(), true);
  await sink.abort([]);
  const delivered = [{ delivery: fileDelivery(), outcomes: [outcome], manifest: text }];
  const verified = () => file.verify(config, delivered, sourceOf([]), deps);
  assert.deepEqual(await verified(), []);
  const held = file.receipts!(config, deps, {
    batch_export_id: 'one',
    timezone: 'UTC',
    isKnown: () => false,
  });
  assert.deepEqual(await Array.fromAsync(held), [{ name: former, text }]);
  // A worker of an earlier release may write its name again beside ours.
  await copyFile(join(root, former), join(root, name));
  assert.deepEqual(await verified(), []);
  await rm(join(root, former));
  await appendFile(join(root, name), ' ');
  assert.deepEqual(
    (await verified()).map((found) => [found.kind, found.name]),
    [['changed', name]],
  );
  await rm(join(root, name));
  assert.deepEqual(
    (await verified()).map((found) => [found.kind, found.name]),
    [['missing', name]],
  );
  // The next commit leaves one receipt, under the present name.
  await appendFile(join(root, former), text);
  await sink.commit([outcome], { name: 'manifest', text });
  assert.equal(await sink.isCommitted(), true);
  await assert.rejects(stat(join(root, former)));
});
