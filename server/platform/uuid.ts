const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Returns true for text that both stores accept as a UUID, in the usual notation and of any
 * version.
 */
export function isUuid(text: string): boolean {
  return pattern.test(text);
}
