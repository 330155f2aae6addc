import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useContext } from 'react';
import type {
  Verification,
  VerificationFinding,
} from '../../../server/api/batch_exports/verifications/schema.ts';
import { counted } from '../../page/text/quantities.ts';
import { Sentence } from '../../page/text/sentence.tsx';
import { Shown } from '../../page/shown.tsx';
import { ZoneContext } from '../../time/instant.tsx';
import { dated } from '../../time/words.ts';
import { useExport } from '../export_context.ts';
import { findingsOf } from './proof.ts';
import { groupsOf, kindInWords } from './words.ts';
import type { Group } from './words.ts';

/** The differences of a verification, by delivery. */
export function Findings({ verification }: { verification: Verification }) {
  const { ids } = useExport();
  const { id, differences } = verification;
  const query = useQuery(findingsOf(ids, id));
  return (
    <Shown query={query}>
      {({ results }) => (
        <>
          {groupsOf(results).map((group) => (
            <Found key={group.delivery?.id ?? 'none'} group={group} />
          ))}
          {differences > results.length && (
            <p className="muted">
              {counted(differences - results.length, 'more difference')}: repair these first, then
              verify again.
            </p>
          )}
        </>
      )}
    </Shown>
  );
}

/** Differences of a delivery that are shown at once. */
const shown_max = 8;

function Found({ group: { delivery, findings } }: { group: Group }) {
  const { row } = useExport();
  const zone = useContext(ZoneContext);
  const params = { project_id: String(row.team_id), export_id: row.id };
  return (
    <section className="finding_group">
      {delivery === null ? (
        <p>
          <strong>Of no known delivery</strong>
        </p>
      ) : (
        <p>
          <strong>
            {dated(delivery.data_interval_start, zone)} to {dated(delivery.data_interval_end, zone)}
          </strong>{' '}
          <Link
            to="/projects/$project_id/exports/$export_id/runs/$run_id"
            params={{ ...params, run_id: delivery.run }}
          >
            Run
          </Link>
        </p>
      )}
      <ul className="findings">
        {findings.slice(0, shown_max).map((finding) => (
          <li key={finding.number}>
            <Told finding={finding} />
          </li>
        ))}
      </ul>
      {findings.length > shown_max && (
        <p className="muted small">
          {counted(findings.length - shown_max, 'more difference')} of this delivery.
        </p>
      )}
    </section>
  );
}

function Told({ finding: { kind, name, detail } }: { finding: VerificationFinding }) {
  return (
    <>
      <strong className="bad">{kindInWords(kind)}</strong> <code>{name}</code>{' '}
      <Sentence text={detail} />
    </>
  );
}
