import type { Draft } from './draft.ts';

/** What was typed into a form, and the names of secrets that were typed and not kept. */
export type Typing = { draft: Draft; lost: readonly string[] };

/**
 * What may be kept of it: all but the values of secrets, of which the names stay, so that whoever
 * comes back learns which to enter again. That a secret is to be removed is kept as it is.
 */
export function withoutSecrets({ draft, lost }: Typing, secret_keys: readonly string[]): Typing {
  const isSecret = (key: string) => secret_keys.includes(key);
  const entries = Object.entries(draft.typed);
  const kept = entries.filter(([key, value]) => !isSecret(key) || value === null);
  const typed = entries.filter(([key, value]) => isSecret(key) && value !== null && value !== '');
  return {
    draft: { ...draft, typed: Object.fromEntries(kept) },
    lost: [...new Set([...lost, ...typed.map(([key]) => key)])],
  };
}

/** The secrets that are lost still once the draft has changed. */
export function lostAfter({ lost }: Typing, changes: Partial<Draft>): readonly string[] {
  const { type, typed = {} } = changes;
  // Another destination begins with no secrets.
  return type === undefined ? lost.filter((key) => typed[key] === undefined) : [];
}
