import type { ExportOverview } from '../../../server/api/batch_exports/overview/schema.ts';
import { Instant } from '../../time/instant.tsx';
import { counted } from '../quantities.ts';
import { healths } from './overview.ts';

/** How an export is: in a word, since when, and why it is not well. */
export function Health({ row }: { row: ExportOverview }) {
  const { health, delivered_until } = row;
  const { word, tone } = backfilled(row) ?? healths[health.code];
  const at = health.since ?? delivered_until;
  const why = reasonOf(health);
  return (
    <>
      <span className={tone}>{word}</span>
      {at !== null && (
        <span className="muted">
          {health.since === null ? ', until ' : ', '}
          <Instant at={at} />
        </span>
      )}
      {why !== undefined && <span className="export_why muted">{why}</span>}
    </>
  );
}

/** Why an export fails, or was paused by the server; undefined of any other. */
function reasonOf({ code, detail }: ExportOverview['health']): string | undefined {
  if (code !== 'failing' && code !== 'paused_automatically') return undefined;
  return detail.replace(/^(Failing|Paused by the server): /, '');
}

/** What is said of an export that only backfills have delivered with so far; else undefined. */
function backfilled({ health: { code }, records_by_backfills: rows }: ExportOverview) {
  if (code !== 'waiting' || rows === null || rows === 0) return undefined;
  return { word: `${counted(rows, 'row')} by backfills, waiting for its first run`, tone: 'good' };
}
