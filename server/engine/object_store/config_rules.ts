import type { ConfigViolation } from '../destination.ts';

/** Violations of a prefix that becomes a part of an address, where the parts `.` and `..` would lead to another place. */
export function dotViolations(prefix: string): ConfigViolation[] {
  if (!prefix.split('/').some((part) => part === '.' || part === '..')) return [];
  return [{ attr: 'prefix', code: 'invalid_input', detail: 'The prefix must not hold the parts "." or "..".' }];
}

/** True for an http or https address of which nothing would be lost or leak when a path is put behind it: no user, password, query or fragment. */
export function isPlainAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  return (url.protocol === 'https:' || url.protocol === 'http:') && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
}

/** Violations of an `endpoint_url`; undefined is none. */
export function endpointViolations(endpoint: string | undefined): ConfigViolation[] {
  if (endpoint === undefined || isPlainAddress(endpoint)) return [];
  return [{ attr: 'endpoint_url', code: 'invalid_input', detail: 'The endpoint must be an http or https address without user, query or fragment.' }];
}

/** An optional text of a config, or undefined where it is absent, null or empty. */
export function textOf(value: string | null | undefined): string | undefined {
  return value === undefined || value === null || value === '' ? undefined : value;
}
