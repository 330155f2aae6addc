import type { Violation } from '../../server/platform/http/errors.ts';

/**
 * Returns the addresses in a pasted text, each once, in order: separated by lines, commas,
 * semicolons or spaces. From `Ada <ada@example.com>` it takes the part in brackets.
 */
export function addressesIn(text: string): string[] {
  const found = new Map<string, string>();
  for (const entry of text.split(/[\n,;]+/)) {
    const named = /<([^<>]*)>/.exec(entry)?.[1];
    for (const address of (named ?? entry).split(/\s+/))
      if (address !== '' && !found.has(address.toLowerCase()))
        found.set(address.toLowerCase(), address);
  }
  return [...found.values()];
}

/** An address that was refused, and why. */
export type Refused = { address: string; detail: string };

/** Returns the refused addresses; undefined if the request has another fault. */
export function refusedAmong(
  addresses: readonly string[],
  violations: readonly Violation[],
): Refused[] | undefined {
  const refused = violations.map(({ attr, detail }) => {
    const index = /^(\d+)__target_email$/.exec(attr ?? '')?.[1];
    const address = index === undefined ? undefined : addresses[Number(index)];
    return address === undefined ? undefined : { address, detail };
  });
  return refused.every((one) => one !== undefined) ? refused : undefined;
}
