/** Digits after the point of a `decimal`. */
export const decimal_places = 9;

/** Returns an instant as text, from its microseconds since 1970. */
export function instantText(microseconds: bigint): string {
  const rest = ((microseconds % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const seconds = new Date(Number((microseconds - rest) / 1_000n)).toISOString().slice(0, 19);
  return `${seconds}.${String(rest).padStart(6, '0')}Z`;
}

/** Returns a day as text, from its number since 1970. */
export function dayText(days: number): string {
  return new Date(days * 86_400_000).toISOString().slice(0, 10);
}

/** Returns a decimal number as text, from the bytes of its digits as a signed whole number. */
export function decimalText(bytes: Uint8Array): string {
  const value = BigInt.asIntN(
    8 * bytes.length,
    bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n),
  );
  const digits = String(value < 0n ? -value : value).padStart(decimal_places + 1, '0');
  const sign = value < 0n ? '-' : '';
  return `${sign}${digits.slice(0, -decimal_places)}.${digits.slice(-decimal_places)}`;
}

/** Returns the quotient, rounded down. */
export function floorDivision(value: bigint, by: bigint): bigint {
  return (value - (((value % by) + by) % by)) / by;
}
