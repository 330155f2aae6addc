import { createContext } from 'react';

const prefix = 'sluice_typed';

/** The person whose values are kept, by an id; undefined keeps nothing, as before a sign-in. */
export const TyperContext = createContext<string | undefined>(undefined);

/** Under which name a person's typing in a form is kept; undefined where there is nobody. */
export function keptName(typer: string | undefined, form: string): string | undefined {
  return typer === undefined ? undefined : `${prefix} ${typer} ${form}`;
}

/**
 * Keeps a form under way for this tab, so that it outlives a reload, a new sign-in and a restart of
 * the server. Whoever calls leaves secrets out.
 */
export function keep(name: string | undefined, kept: object): void {
  if (name === undefined) return;
  try {
    sessionStorage.setItem(name, JSON.stringify(kept));
  } catch {
    // The browser has no room for it: then it is on the page alone.
  }
}

/** Returns the kept values of the name; undefined without any. */
export function readKept<Kept>(name: string | undefined): Kept | undefined {
  const text = name === undefined ? null : sessionStorage.getItem(name);
  if (text === null) return undefined;
  try {
    return JSON.parse(text) as Kept;
  } catch {
    return undefined;
  }
}

/** Forgets what was kept under the name. */
export function forgetKept(name: string | undefined): void {
  if (name !== undefined) sessionStorage.removeItem(name);
}

/** Forgets everything that was typed in this tab, for whoever signs out. */
export function forgetAllKept(): void {
  for (const name of Object.keys(sessionStorage))
    if (name.startsWith(prefix)) sessionStorage.removeItem(name);
}
