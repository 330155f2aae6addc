/** Most characters of JSON in a part of a plugin's record, which every list shows. */
const record_part_length_max = 65_536;

const depth_max = 64;

/**
 * Returns the fault of a value for a plugin's record, as the end of a sentence, or undefined.
 * Guarantee: an accepted value can be written as JSON, the database stores it unchanged, and it has
 * at most `length_max` characters of JSON.
 */
export function storableFault(
  value: unknown,
  length_max = record_part_length_max,
): string | undefined {
  const fault = partFault(value, 0);
  if (fault !== undefined || value === undefined) return fault;
  return JSON.stringify(value).length > length_max
    ? `must have at most ${length_max} characters of JSON`
    : undefined;
}

function partFault(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string')
    return isText(value) ? undefined : 'must not have U+0000 or half a character in a text';
  if (typeof value !== 'object' || value === null) return undefined;
  // Checked before any other code walks the value, which could exhaust the stack.
  if (depth === depth_max) return `must not be nested deeper than ${depth_max} levels`;
  for (const [name, part] of Object.entries(value)) {
    const fault = isText(name)
      ? partFault(part, depth + 1)
      : 'must not have U+0000 or half a character in a name';
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function isText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}
