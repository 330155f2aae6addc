import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { insertRunRow, newExport } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { shareHome } from '../../../../test/shared_home.ts';
import { openSecrets } from '../../../platform/secrets/secrets.ts';
import { signReceipt } from '../../exports/runs/receipt.ts';
import type { Receipt } from '../../exports/runs/receipt.ts';
import { findUnproven } from './proofs.ts';

const { harness, home } = shareHome();

const hour = 3_600_000;
const from = Date.parse('2026-01-01T00:00:00Z');
const selection = [
  { event_from: null, event_to: null, inserted_from: from, inserted_to: from + hour },
];
const whole: Partial<Receipt> = { selection, source_records: 3, records: 3 };
const ours = () => harness.deps.secrets;
const others = openSecrets('a secret of another server, 32 or more');

const cases: [string, () => string | null, boolean][] = [
  ['a receipt of all rows', () => signReceipt(whole as Receipt, ours()), true],
  ['none', () => null, false],
  ['one of fewer rows', () => signReceipt({ ...whole, records: 2 } as Receipt, ours()), false],
  ['one of other rows', () => signReceipt({ ...whole, selection: [] } as Receipt, ours()), false],
  ['one of another server', () => signReceipt(whole as Receipt, others), false],
  [
    'one that was changed',
    () => signReceipt(whole as Receipt, ours()).replace('"records":3', '"records":4'),
    false,
  ],
];

for (const [says, receiptOf, is_proven] of cases)
  test(`rows ${is_proven ? 'are' : 'are not'} proven to be delivered by ${says}`, async () => {
    const { db, secrets } = harness.deps;
    const { id } = (await newExport(home)) as { id: string };
    const run = await insertRunRow(harness, id, { status: 'Completed', total: 3 });
    await db.run(sql`UPDATE batch_export_runs SET receipt = ${receiptOf()} WHERE id = ${run}`);
    const span = { from: -Infinity, to: Infinity };
    const { signal } = new AbortController();
    const unproven = await findUnproven({ db, secrets }, [{ id, revision: 1 }], span, signal);
    assert.deepEqual([...unproven.keys()], is_proven ? [] : [id]);
  });
