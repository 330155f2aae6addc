import { isLineOfText } from '../../../platform/line_of_text.ts';

const characters_max = 300;
const loopback = new Set(['127.0.0.1', '[::1]', 'localhost']);
/** Schemes of programs without a domain in their name, as RFC 8252 (7.1) asks for. */
const known_programs = new Set(['cursor:', 'vscode:', 'vscode-insiders:', 'windsurf:']);
const of_domain = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:$/;

/**
 * True for an address that a code may be sent to: one of https, of this computer by http, or of a
 * program by a scheme of its own.
 */
export function isRedirectUri(text: unknown): text is string {
  if (typeof text !== 'string' || text.length > characters_max) return false;
  if (!isLineOfText(text) || /[\s#\\]/.test(text)) return false;
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '') return false;
  const { protocol } = url;
  if (protocol === 'https:') return true;
  if (protocol === 'http:') return isOfThisComputer(text);
  return known_programs.has(protocol) || of_domain.test(protocol);
}

/** Does the address lead to a program on the computer of the person? */
export function isOfThisComputer(uri: string): boolean {
  const { protocol, hostname } = new URL(uri);
  return protocol !== 'https:' && (protocol !== 'http:' || loopback.has(hostname));
}

/**
 * The same address exactly; of one on this computer the port is free, because a program takes any
 * that is (RFC 8252, 7.3).
 */
export function isSameAddress(registered: string, sent: string): boolean {
  return isRedirectUri(sent) && withoutPort(registered) === withoutPort(sent);
}

function withoutPort(uri: string): string {
  return uri.replace(/^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)):\d+(?=[/?]|$)/, '$1');
}

/** The place that the address leads to, in a word: a host, or the scheme of a program. */
export function placeOf(uri: string): string {
  const { protocol, hostname } = new URL(uri);
  return protocol === 'https:' || protocol === 'http:' ? hostname : `${protocol}//`;
}

/** The address with the parameters of an answer. */
export function answerAt(uri: string, answer: Record<string, string | undefined>): string {
  const url = new URL(uri);
  for (const [name, value] of Object.entries(answer))
    if (value !== undefined) url.searchParams.set(name, value);
  return url.href;
}
