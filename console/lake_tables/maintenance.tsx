import type { LakeTableDetails } from '../../server/api/lake_tables/schema.ts';
import type { ExportMaintenance } from '../../server/api/batch_exports/maintenance/schema.ts';
import { Figures } from '../page/figures.tsx';
import { Instant } from '../time/instant.tsx';
import { changesOf } from './lake_tables.ts';

type Shown = NonNullable<LakeTableDetails['maintenance']>;

/** Shows Sluice's maintenance of a table: its last time, its changes, and the next time. */
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

/** Shows the maintenance rounds of a table. */
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
