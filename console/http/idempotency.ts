/**
 * Creates keys for the requests of one form. The same body gets the same key until `settle`, so
 * that a request with a lost answer can be repeated without a second effect.
 */
export function openIdempotencyKeys(): { keyOf(body: unknown): string; settle(): void } {
  let held: { text: string; key: string } | undefined;
  return {
    keyOf: (body) => {
      const text = JSON.stringify(body) ?? '';
      if (held?.text !== text) held = { text, key: randomKey() };
      return held.key;
    },
    settle: () => (held = undefined),
  };
}

/** Browsers have `randomUUID` only over https, and a local server may use http. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
