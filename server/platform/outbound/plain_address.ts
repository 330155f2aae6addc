import { portFault } from './blocked_ports.ts';

/**
 * True for an http or https address without user, password or fragment: one that can be shown, and
 * that requests go to as it stands.
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

/** Says why requests cannot go to an address as it stands; undefined where they can. */
export function addressFault(text: string): string | undefined {
  return isPlainAddress(text)
    ? portFault(new URL(text))
    : 'Must be an http or https address without user, password or fragment.';
}

/** The same without a query: nothing is lost or leaks when a path is put behind it. */
export function isPlainBase(text: string): boolean {
  return isPlainAddress(text) && URL.parse(text)?.search === '';
}
