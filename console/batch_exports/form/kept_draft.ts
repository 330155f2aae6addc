import { useEffect, useState } from 'react';
import type { Base, Draft } from './draft.ts';
import { draftOf } from './draft.ts';

/** A form under way: what it began with, its version, and what was typed. */
export type Kept = { base: Base | undefined; etag: string | undefined; draft: Draft };

/**
 * A form's draft, which outlives a reload and a restart of the server: this tab keeps it until it
 * is forgotten, secrets left out. A form that was begun goes on from what it began with, so that a
 * change which somebody else made meanwhile is refused and not undone.
 */
export function useKeptDraft(
  name: string,
  base: Base | undefined,
  etag: string | undefined,
  secret_keys: (type: string) => string[],
) {
  const [kept, setKept] = useState<Kept>(() => read(name) ?? { base, etag, draft: draftOf(base) });
  const [is_touched, setTouched] = useState(() => read(name) !== undefined);
  useEffect(() => {
    if (is_touched) sessionStorage.setItem(name, JSON.stringify(withoutSecrets(kept, secret_keys)));
  }, [name, kept, is_touched, secret_keys]);
  return {
    ...kept,
    is_touched,
    change: (changes: Partial<Draft>) => {
      setTouched(true);
      setKept((before) => ({ ...before, draft: { ...before.draft, ...changes } }));
    },
    type: (key: string, value: string | boolean | null) => {
      setTouched(true);
      setKept((before) => {
        const typed = { ...before.draft.typed, [key]: value };
        return { ...before, draft: { ...before.draft, typed } };
      });
    },
    forget: () => {
      setTouched(false);
      sessionStorage.removeItem(name);
    },
  };
}

function read(name: string): Kept | undefined {
  const text = sessionStorage.getItem(name);
  if (text === null) return undefined;
  try {
    return JSON.parse(text) as Kept;
  } catch {
    return undefined;
  }
}

function withoutSecrets(kept: Kept, secret_keys: (type: string) => string[]): Kept {
  const secrets = new Set(secret_keys(kept.draft.type));
  const typed = Object.fromEntries(
    Object.entries(kept.draft.typed).filter(([key, value]) => !secrets.has(key) || value === null),
  );
  return { ...kept, draft: { ...kept.draft, typed } };
}
