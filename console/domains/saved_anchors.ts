import type { DomainRow } from '../../server/api/domains/schema.ts';
import { ask } from '../http/ask.ts';
import { etagOf } from '../http/reading.ts';
import { useIsOwner } from '../signed_in/only_for.tsx';
import { useDone } from '../page/section.tsx';
import { waitingFields } from './anchor_words.ts';
import type { AnchorField, AnchorValue } from './anchor_words.ts';
import { domainOf } from './domains.ts';
import { pathTo } from '../http/path.ts';
import type { AnchorChanges } from '../../server/api/domains/schema.ts';

type Given = { domain: DomainRow; organization_id: string };

/**
 * Returns a field's value for a form: the waiting one, or else the stored one. Saving the form
 * again must not undo a waiting change.
 */
export function shownOf(domain: DomainRow, field: AnchorField): AnchorValue {
  const waiting = domain.pending_changes?.[field];
  return waiting === undefined ? domain[field] : waiting;
}

/**
 * Returns the fields that differ from the form's first values; others are not sent, so that an
 * owner who changes one field confirms no waiting change.
 */
export function changedAnchors(domain: DomainRow, values: AnchorChanges): AnchorChanges {
  const plain = (value: AnchorValue) =>
    typeof value === 'string' ? value.replaceAll('\r\n', '\n') : (value ?? '');
  return Object.fromEntries(
    Object.entries(values).filter(
      ([name, value]) => plain(value) !== plain(shownOf(domain, name as AnchorField)),
    ),
  );
}

/**
 * Ends a form that changes who can sign in: reads the domain again and says what was saved. An
 * owner whose change waits can confirm it at once; other people read that it waits. Earlier waiting
 * changes are never confirmed with it.
 */
export function useSavedAnchors(given: Given): (saved: DomainRow, told: string) => Promise<void> {
  const { domain, organization_id } = given;
  const done = useDone();
  const is_owner = useIsOwner(organization_id);
  const isWaiting = (saved: DomainRow) =>
    waitingFields(saved).some(
      (field) => saved.pending_changes?.[field] !== domain.pending_changes?.[field],
    );
  return async (saved, told) => {
    const may_confirm = is_owner && domain.pending_changes === null && isWaiting(saved);
    const settled = may_confirm ? await confirmChanges(organization_id, saved) : saved;
    const waits = is_owner
      ? 'Saved. It has no effect until you confirm it above.'
      : 'Saved. It has no effect until an owner confirms it.';
    await done(isWaiting(settled) ? waits : told, domainOf(organization_id, domain.id));
  };
}

/** Confirms the saved change; returns the domain afterwards, confirmed or not. */
async function confirmChanges(organization_id: string, saved: DomainRow): Promise<DomainRow> {
  const path = pathTo('/api/organizations/:organization_id/domains/:id/pending_changes/confirm/', {
    organization_id,
    id: saved.id,
  });
  const outcome = await ask('POST', path, { body: {}, if_match: etagOf(saved) });
  if (outcome.ok) return outcome.body;
  const { code, status } = outcome.problem;
  if (code === 'own_factor_required' || status === 412) return saved;
  throw outcome.problem;
}
