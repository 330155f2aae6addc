import { useQueries, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { BatchExport } from '../../../server/api/batch_exports/schema.ts';
import { ask } from '../../http/ask.ts';
import { exportPath, useExport } from '../export_context.ts';
import { useWhenChanged } from '../following.ts';
import { Form } from '../../form/form.tsx';
import { counted } from '../../page/text/quantities.ts';
import { useReadAnew } from '../read_anew.ts';
import { backfillPath, earlierDeliveries, planOf } from './backfills.ts';
import type { Repaired } from './backfills.ts';
import { placeOf } from './place.ts';

/** Offers to deliver the rows from before the export's restart again. */
export function EarlierDeliveries() {
  const { row, ids } = useExport();
  const [begun, begin] = useState<string>();
  const { data, refetch } = useQuery(earlierDeliveries(ids));
  useWhenChanged(`${row.last_updated_at} ${latestEnd(row)}`, refetch);
  const ranges = (data?.ranges ?? []).map((range): Repaired => ({ ...range, mode: 'missing' }));
  const plans = useQueries({ queries: ranges.map((range) => planOf(ids, range)) });
  const rows = plans.reduce((sum, plan) => sum + (plan.data?.progress.records_total_count ?? 0), 0);
  // The ledger knows the rows as soon as their runs are planned.
  if (begun === row.last_updated_at || rows === 0 || plans.some((plan) => plan.data === undefined))
    return undefined;
  return <Offer {...{ row, rows, ranges }} done={() => begin(row.last_updated_at)} />;
}

const latestEnd = ({ latest_runs }: BatchExport) =>
  latest_runs
    .map(({ finished_at }) => finished_at ?? '')
    .toSorted()
    .at(-1);

function Offer({
  row,
  rows,
  ranges,
  done,
}: {
  row: BatchExport;
  rows: number;
  ranges: Repaired[];
  done: () => void;
}) {
  const { ids } = useExport();
  const navigate = useNavigate();
  const readAnew = useReadAnew(exportPath(ids));
  const [first, ...others] = ranges;
  return (
    <section className="note" aria-label="Delivered earlier">
      <p>
        This export delivered {counted(rows, 'row')} before it restarted, and has not delivered them
        to <strong>{placeOf(row.destination)}</strong> since.
      </p>
      <Form
        path={backfillPath(ids)}
        body={() => first!}
        done={async ({ backfill }) => {
          // The ledger leaves out rows that several ranges contain.
          for (const body of others) await ask('POST', backfillPath(ids), { body });
          await navigate({
            to: '/projects/$project_id/exports/$export_id',
            params: { project_id: String(row.team_id), export_id: row.id },
            search: { backfill: String(backfill.id) },
          });
          await readAnew();
          done();
        }}
        button={`Deliver them to ${placeOf(row.destination)}`}
      />
    </section>
  );
}
