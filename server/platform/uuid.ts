const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** True for text that both stores take as a UUID, in the usual spelling and of any version. */
export function isUuid(text: string): boolean {
  return pattern.test(text);
}
