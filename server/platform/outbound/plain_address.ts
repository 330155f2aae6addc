import { portFault } from './blocked_ports.ts';

/**
 * Returns true for an http or https URL without user, password or fragment: one that can be shown,
 * and that requests use unchanged.
 */
export function isPlainAddress(text: string): boolean {
  const url = URL.parse(text);
  return (
    url !== null &&
    (url.protocol === 'https:' || url.protocol === 'http:') &&
    url.username === '' &&
    url.password === '' &&
    url.hash === ''
  );
}

/** Returns why requests cannot use a URL unchanged; undefined if they can. */
export function addressFault(text: string): string | undefined {
  return isPlainAddress(text)
    ? portFault(new URL(text))
    : 'Must be an http or https address without user, password or fragment.';
}

/** Returns the same without a query: a path can be appended without losing or leaking anything. */
export function isPlainBase(text: string): boolean {
  return isPlainAddress(text) && URL.parse(text)?.search === '';
}
