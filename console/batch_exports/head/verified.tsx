import { Link } from '@tanstack/react-router';
import { useContext } from 'react';
import type { ExportOverview } from '../../../server/api/batch_exports/overview/schema.ts';
import { ZoneContext } from '../../time/instant.tsx';
import { dated } from '../../time/words.ts';

/** Says up to when an export is verified, with the way to the proof; nothing before the first. */
export function Verified({ row }: { row: ExportOverview }) {
  const zone = useContext(ZoneContext);
  if (row.verified_through === null) return undefined;
  return (
    <span className="muted">
      <Link
        to="/projects/$project_id/exports/$export_id/proof"
        params={{ project_id: String(row.team_id), export_id: row.id }}
      >
        verified through {dated(row.verified_through, zone)}
      </Link>
    </span>
  );
}
