/**
 * True for an http or https address without user, password or fragment: one that can be shown, and
 * that requests go to as it stands.
 */
export function isPlainAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  return (
    (url.protocol === 'https:' || url.protocol === 'http:') &&
    url.username === '' &&
    url.password === '' &&
    url.hash === ''
  );
}
