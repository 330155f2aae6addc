import { createContext } from 'react';

const prefix = 'sluice_typed';

/** The id of the person whose values are stored; undefined stores nothing, as before a sign-in. */
export const TyperContext = createContext<string | undefined>(undefined);

/** Returns the storage key of a person's form; undefined without a person. */
export function keptName(typer: string | undefined, form: string): string | undefined {
  return typer === undefined ? undefined : `${prefix} ${typer} ${form}`;
}

/**
 * Stores an open form for this tab, so that it survives a reload, a new sign-in and a server
 * restart. The caller leaves out secrets.
 */
export function keep(name: string | undefined, kept: object): void {
  if (name === undefined) return;
  try {
    sessionStorage.setItem(name, JSON.stringify(kept));
  } catch {
    // The browser's storage is full, so the values are only on the page.
  }
}

/** Returns the stored values of the name; undefined without any. */
export function readKept<Kept>(name: string | undefined): Kept | undefined {
  const text = name === undefined ? null : sessionStorage.getItem(name);
  if (text === null) return undefined;
  try {
    return JSON.parse(text) as Kept;
  } catch {
    return undefined;
  }
}

/** Deletes the stored values of the name. */
export function forgetKept(name: string | undefined): void {
  if (name !== undefined) sessionStorage.removeItem(name);
}

/** Deletes everything that was typed in this tab, when the person signs out. */
export function forgetAllKept(): void {
  for (const name of Object.keys(sessionStorage))
    if (name.startsWith(prefix)) sessionStorage.removeItem(name);
}
