import type { LakeTableDetails } from '../../server/api/lake_tables/schema.ts';
import type { ExportMaintenance } from '../../server/api/batch_exports/maintenance/schema.ts';
import { Figures } from '../page/figures.tsx';
import { Instant } from '../time/instant.tsx';
import { changesOf } from './lake_tables.ts';

type Shown = NonNullable<LakeTableDetails['maintenance']>;

/** Shows when Sluice maintained a table, what it did, and when it does so next. */
export function Maintenance({ maintenance }: { maintenance: Shown }) {
  if (!maintenance.is_on)
    return (
      <p className="muted">
        Off. Set the property <code>sluice.maintenance</code> to <code>true</code> to turn it on.
        Sluice maintains tables of format versions 2 and 3.
      </p>
    );
  return <Rounds rounds={maintenance} />;
}

/** Shows the rounds of maintenance of a table. */
export function Rounds({ rounds }: { rounds: ExportMaintenance }) {
  const { due_at, finished_at, changed_at, changes, detail } = rounds;
  const at = (instant: string | null) => (instant === null ? '–' : <Instant at={instant} />);
  return (
    <>
      <Figures
        figures={[
          ['Latest round', at(finished_at)],
          ['Next round', at(due_at)],
          ['Latest change', at(changed_at)],
          ...changesOf(changes),
        ]}
      />
      {detail !== null && <p className="muted">{detail}</p>}
    </>
  );
}
