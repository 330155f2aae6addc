import type { Draft } from './draft.ts';

/** The typed values of a form, and the names of secrets that were typed and not kept. */
export type Typing = { draft: Draft; lost: readonly string[] };

/**
 * Returns the part that may be kept: everything but the values of secrets, whose names stay, so
 * that a returning person learns which to enter again. The removal of a secret is kept.
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
export function lostAfter({ draft, lost }: Typing, changes: Partial<Draft>): readonly string[] {
  const { type = draft.type, typed = {} } = changes;
  // Another destination begins with no secrets.
  return type === draft.type ? lost.filter((key) => typed[key] === undefined) : [];
}
