import type { DomainRow } from '../../server/api/domains/schema.ts';
import { TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { etagOf } from '../http/reading.ts';
import { anchor_labels } from './anchor_words.ts';
import { domainPath } from './domains.ts';
import { changedAnchors, shownOf, useSavedAnchors } from './saved_anchors.ts';

type Given = { domain: DomainRow; organization_id: string };

/** Changes the name of the domain, which must be proved again. */
export function RenameForm({ domain, organization_id }: Given) {
  const saved = useSavedAnchors({ domain, organization_id });
  return (
    <>
      <p>
        You prove the new name with a new record. Until then nobody signs in through the provider,
        and everybody whom it signed in has to sign in again.
      </p>
      <Form
        // The typed text is outdated after the change was confirmed or discarded.
        key={`${domain.domain} ${domain.pending_changes === null}`}
        method="PATCH"
        path={domainPath(organization_id, domain.id)}
        if_match={etagOf(domain)}
        body={(values) => changedAnchors(domain, { domain: String(values['domain']) })}
        done={(answer) => saved(answer, 'The name was saved. Add its record to your DNS.')}
        button="Rename domain"
        tone="plain"
        part="name"
      >
        <TextField
          name="domain"
          label={anchor_labels.domain}
          value={String(shownOf(domain, 'domain'))}
          inputMode="url"
        />
      </Form>
    </>
  );
}
