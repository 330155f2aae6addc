import { Link } from '@tanstack/react-router';
import { useContext } from 'react';
import type { ExportOverview } from '../../../server/api/batch_exports/overview/schema.ts';
import { ZoneContext } from '../../time/instant.tsx';
import { dated } from '../../time/words.ts';

type Given = { row: Pick<ExportOverview, 'id' | 'team_id' | 'verified_through' | 'verification'> };

/**
 * Shows until when an export is verified, with a link to the proof; nothing before the first
 * verification.
 */
export function Verified({ row, is_short = false }: Given & { is_short?: boolean }) {
  const { text, tone } = useWords(row, is_short);
  if (text === undefined) return is_short ? '–' : undefined;
  return (
    <span className={tone}>
      <Link
        to="/projects/$project_id/exports/$export_id/proof"
        params={{ project_id: String(row.team_id), export_id: row.id }}
      >
        {text}
      </Link>
    </span>
  );
}

function useWords(
  { verified_through: through, verification }: Given['row'],
  is_short: boolean,
): { text: string | undefined; tone: string } {
  const zone = useContext(ZoneContext);
  const state = verification?.state;
  if (state === 'not_verifiable')
    return { text: is_short ? undefined : 'Not verifiable', tone: 'muted' };
  const tone = state === 'differing' ? 'bad' : state === 'standing_still' ? 'warn' : 'muted';
  const until =
    through === null ? undefined : `${is_short ? '' : 'Verified through '}${dated(through, zone)}`;
  const [differs, still] = is_short
    ? ['Differs', 'Stopped']
    : ['Differs at the destination', 'Verification has stopped'];
  const why = state === 'differing' ? differs : state === 'standing_still' ? still : undefined;
  if (why === undefined || (is_short && until !== undefined)) return { text: until, tone };
  return { text: until === undefined ? why : `${until}. ${why}`, tone };
}
