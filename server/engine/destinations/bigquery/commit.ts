import type { Delivery, Manifest, SliceOutcome } from '../../model/destination/destination.ts';
import { commitKnowingly } from '../sql_tables/commit.ts';
import type { CommitAnswer } from '../sql_tables/commit.ts';
import { findReceipt } from '../sql_tables/receipts.ts';
import { recordsIn } from '../sql_tables/staged_sink.ts';
import type { Standing } from '../sql_tables/staged_sink.ts';
import type { Dataset } from './api.ts';
import { targetOf } from './config.ts';
import { bigQueryDialect } from './dialect.ts';
import { JobError, factsOf } from './faults.ts';
import {
  cancelJob,
  endOf,
  findJob,
  isEnded,
  queryConfiguration,
  resultOf,
  startJob,
} from './jobs.ts';
import type { Job, QueryParameters } from './jobs.ts';
import { showScript } from './statements.ts';
import type { Staged } from './statements.ts';

/** The parts of a delivery's receipt. */
type Receipt = { outcomes: SliceOutcome[]; manifest: Manifest };

/**
 * Shows the staged rows with their receipt, exactly once even if several attempts run at the same
 * time. BigQuery has no locks, but it accepts each job name once. The attempts of a delivery number
 * their jobs from 0, and use the next number only when the previous job has ended without a
 * receipt. So the second attempt finds the first one's job and waits for it. Returns true if the
 * receipt has our text; otherwise an earlier attempt has shown the rows.
 */
export async function showRows(
  dataset: Dataset,
  standing: Standing,
  { delivery, ...staged }: Staged & { delivery: Delivery },
  receipt: Receipt,
): Promise<boolean> {
  const script = queryConfiguration(
    showScript(dataset.config, delivery, staged),
    receiptParameters(dataset, delivery, receipt),
  );
  const receiptOf = () => findReceipt(bigQueryDialect(dataset), delivery.delivery_id);
  for (let number = 0; ; number += 1) {
    const id = commitJob(delivery, number);
    let others: Job | undefined;
    await commitKnowingly(standing, receipt.manifest, {
      commit: async () => {
        const { job, is_new } = await startJob(dataset, id, script);
        if (is_new) await resultOf(dataset, job);
        else others = job;
      },
      answerOf: (error) => answerOf(dataset, id, error),
      isThere: async ({ text }) => (await receiptOf()) === text,
    });
    if (others === undefined) return true;
    await endOf(dataset, others);
    if ((await receiptOf()) !== undefined) return false;
    standing.may_show = false;
  }
}

/**
 * Judges the error of a commit: only the receipt shows the result of an ended job. A refused job
 * that does not exist has never begun. Any other job continues without us.
 */
async function answerOf(dataset: Dataset, id: string, error: unknown): Promise<CommitAnswer> {
  if (error instanceof JobError) return 'ended';
  const status = factsOf(error)?.status ?? 0;
  if (status < 400 || status >= 500) return 'nothing';
  return findJob(dataset, id).then(
    (job) => (job === undefined ? 'rolled_back' : 'nothing'),
    () => 'nothing',
  );
}

function commitJob(delivery: Delivery, number: number): string {
  return `sluice_commit_${delivery.delivery_id}_${number}`;
}

function receiptParameters(
  dataset: Dataset,
  delivery: Delivery,
  { outcomes, manifest }: Receipt,
): QueryParameters {
  return {
    delivery_id: delivery.delivery_id,
    batch_export_id: delivery.batch_export_id,
    run_id: delivery.run_id,
    table_name: targetOf(dataset.config).name,
    records: recordsIn(outcomes),
    manifest: manifest.text,
    ...(delivery.generation === undefined ? {} : { generation: delivery.generation }),
  };
}

/**
 * Ends a job of the delivery that may be about to show rows. When this returns, no job of the
 * delivery is running.
 */
export async function endCommits(dataset: Dataset, delivery: Delivery): Promise<void> {
  for (let number = 0; ; number += 1) {
    const job: Job | undefined = await findJob(dataset, commitJob(delivery, number));
    if (job === undefined) return;
    if (isEnded(job)) continue;
    await cancelJob(dataset, job.jobReference.jobId);
    await endOf(dataset, job);
  }
}
