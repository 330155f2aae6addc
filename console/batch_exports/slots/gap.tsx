import { getRouteApi } from '@tanstack/react-router';
import { memo, useContext } from 'react';
import type { Backfill } from '../../../server/api/batch_exports/backfills/schema.ts';
import { backfillPath } from '../backfills/backfills.ts';
import { exportPath, useExport } from '../export_context.ts';
import { useReadAnew } from '../read_anew.ts';
import { Form } from '../../form/form.tsx';
import { counted } from '../../page/text/quantities.ts';
import { ZoneContext } from '../../time/instant.tsx';
import { written } from '../../time/words.ts';
import type { Part } from './drawn.ts';
import { gapIn } from './gap_in.ts';
import { reasonSentence } from './kinds.ts';
import { isoInstant } from './slots.ts';

const route = getRouteApi('/signed_in/projects/$project_id/exports/$export_id/');

/** Offers to repair the latest gap in view with one button, unless a repair is open. */
export const Gap = memo(function Gap({
  parts,
  is_repairing,
}: {
  parts: Part[];
  is_repairing: boolean;
}) {
  const { ids } = useExport();
  const zone = useContext(ZoneContext);
  const { backfill } = route.useSearch();
  const navigate = route.useNavigate();
  const readAnew = useReadAnew(exportPath(ids));
  const found = gapIn(parts);
  if (found === undefined || is_repairing || backfill !== undefined) return undefined;
  const { gap, others } = found;
  const [start_at, end_at] = [isoInstant(gap.from), isoInstant(gap.to)];
  const done = async ({ backfill: begun }: { backfill: Backfill }) => {
    await navigate({
      search: (before) => ({ ...before, backfill: String(begun.id) }),
      replace: true,
      resetScroll: false,
    });
    await readAnew();
  };
  return (
    <section className="panel gap" aria-label="Gap">
      <p>
        <strong>
          {counted(gap.slots, 'interval')} {gap.slots === 1 ? 'is' : 'are'} missing:{' '}
          {between(written(start_at, zone), written(end_at, zone))}.
        </strong>{' '}
        <span className="muted">
          {reasonSentence(gap.range)}
          {others > 0 && ` ${counted(others, 'older gap')} in view, in the table below.`}
        </span>
      </p>
      <Form
        path={backfillPath(ids)}
        body={() => ({ start_at, end_at, mode: 'missing' as const, by: gap.by })}
        done={done}
        button="Repair this gap"
      />
    </section>
  );
});

/** Returns both times, with the day once if it is the same. */
function between(from: string, to: string): string {
  const [day, clock] = to.split(' ');
  return `${from} to ${from.startsWith(day!) ? clock : to}`;
}
