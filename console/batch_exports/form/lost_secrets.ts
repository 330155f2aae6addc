import type { Draft } from './draft.ts';

/** The typed values of a form, and the names of typed secrets that were not stored. */
export type Typing = { draft: Draft; lost: readonly string[] };

/**
 * Returns the part that may be stored: everything except secrets. Their names stay, so that a
 * returning person learns which to enter again. The removal of a secret is stored.
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

/** Returns the secrets that are still lost after the draft has changed. */
export function lostAfter({ draft, lost }: Typing, changes: Partial<Draft>): readonly string[] {
  const { type = draft.type, typed = {} } = changes;
  // Another destination starts without secrets.
  return type === draft.type ? lost.filter((key) => typed[key] === undefined) : [];
}
