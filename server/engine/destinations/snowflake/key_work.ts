const tag_sequence = 0x30;
const tag_integer = 0x02;

/** Opening a key of this many iterations takes some 50 ms; OpenSSL writes 2,048. */
const iterations_max = 100_000;
/** 1.3.6.1.4.1.11591.4.11: scrypt, whose cost is the product of three numbers. */
const scrypt = Buffer.from('2b06010401da47040b', 'hex');

/**
 * Returns true if opening an encrypted PKCS #8 key would block the event loop for too long. The key
 * itself contains the cost: the first integer of its algorithm is the number of iterations (RFC
 * 8018). False for any other text: OpenSSL's forms before PKCS #8 have one iteration.
 */
export function takesTooMuchWork(pem: string): boolean {
  const inner = /-----BEGIN ENCRYPTED PRIVATE KEY-----([^-]*)-----END/.exec(pem);
  const der = Buffer.from(inner?.[1] ?? '', 'base64');
  const whole = entriesOf(der).next().value;
  const algorithm = whole && entriesOf(whole.value).next().value;
  if (algorithm === undefined) return false;
  if (algorithm.value.includes(scrypt)) return true;
  return (firstInteger(algorithm) ?? 0) > iterations_max;
}

type Entry = { tag: number; value: Buffer };

function firstInteger({ tag, value }: Entry): number | undefined {
  if (tag === tag_integer) return Number(`0x0${value.toString('hex')}`);
  if (tag !== tag_sequence) return undefined;
  for (const entry of entriesOf(value)) {
    const found = firstInteger(entry);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Yields the complete entries of a DER sequence. */
function* entriesOf(der: Buffer): Generator<Entry, undefined> {
  for (let at = 0; at + 2 <= der.length;) {
    const short = der[at + 1]!;
    const length_bytes = short < 0x80 ? 0 : short & 0x7f;
    const start = at + 2 + length_bytes;
    if (length_bytes > 4 || start > der.length) return;
    const length = length_bytes === 0 ? short : der.readUIntBE(at + 2, length_bytes);
    if (start + length > der.length) return;
    yield { tag: der[at]!, value: der.subarray(start, start + length) };
    at = start + length;
  }
}
