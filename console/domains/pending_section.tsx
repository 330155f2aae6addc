import { useState } from 'react';
import type { DomainRow } from '../../server/api/domains/schema.ts';
import { Form } from '../form/form.tsx';
import { etagOf } from '../http/reading.ts';
import { OnlyFor } from '../signed_in/only_for.tsx';
import { Command } from '../page/command.tsx';
import { Rows } from '../page/tables/rows.tsx';
import { Section, Seldom, useDone } from '../page/section.tsx';
import { Instant } from '../time/instant.tsx';
import { anchorWords, anchor_labels, waitingFields } from './anchor_words.ts';
import type { AnchorField, AnchorValue } from './anchor_words.ts';
import { domainOf } from './domains.ts';
import { pathTo } from '../http/path.ts';

type Given = { domain: DomainRow; organization_id: string };

/**
 * The changes of a domain that wait for an owner, to confirm or discard; it stays visible to show
 * the result.
 */
export function PendingSection({ domain, organization_id }: Given) {
  const waiting = domain.pending_changes;
  const [was_waiting, setWasWaiting] = useState(waiting !== null);
  if (waiting !== null && !was_waiting) setWasWaiting(true);
  if (waiting === null && !was_waiting) return null;
  return (
    <Section title="Waiting for an owner" is_wide>
      {waiting === null ? (
        <p className="muted">No changes are waiting now.</p>
      ) : (
        <>
          <p>
            <bdi>{domain.pending_set_by}</bdi> made these changes
            {domain.pending_set_at !== null && (
              <>
                {' '}
                <Instant at={domain.pending_set_at} />
              </>
            )}
            . They have no effect until an owner confirms them.
          </p>
          <Rows
            rows={waitingFields(domain)}
            keyOf={(field) => field}
            columns={{
              Setting: (field) => anchor_labels[field],
              Now: (field) => <Value field={field} value={domain[field]} />,
              After: (field) => <Value field={field} value={waiting[field]} />,
            }}
          />
          <Decide domain={domain} organization_id={organization_id} />
        </>
      )}
    </Section>
  );
}

function Value({ field, value }: { field: AnchorField; value: AnchorValue }) {
  const words = <bdi className="long">{anchorWords(field, value)}</bdi>;
  if (field !== 'saml_x509_cert' || typeof value !== 'string' || value === '') return words;
  return (
    <>
      {words}
      <Seldom summary="Show it all">
        <Command text={value} what="the certificates" />
      </Seldom>
    </>
  );
}

function Decide({ domain, organization_id }: Given) {
  const done = useDone();
  const ids = { organization_id, id: domain.id };
  const settled = (told: string) => done(told, domainOf(organization_id, domain.id));
  return (
    <div className="toolbar after_form">
      <OnlyFor organization_id={organization_id} level={15} what="can confirm them">
        <Form
          path={pathTo(
            '/api/organizations/:organization_id/domains/:id/pending_changes/confirm/',
            ids,
          )}
          if_match={etagOf(domain)}
          done={() => settled('The changes are in effect.')}
          button="Confirm changes"
        />
      </OnlyFor>
      <OnlyFor organization_id={organization_id} what="can discard them">
        <Form
          method="DELETE"
          path={pathTo('/api/organizations/:organization_id/domains/:id/pending_changes/', ids)}
          if_match={etagOf(domain)}
          done={() => settled('The changes were discarded.')}
          button="Discard changes"
          tone="danger"
          asks={() => ({
            title: `Discard the waiting changes of ${domain.domain}?`,
            text: 'The rules in effect stay. If you want the changes later, make them again.',
            button: 'Discard changes',
            keep: 'Cancel',
          })}
        />
      </OnlyFor>
    </div>
  );
}
