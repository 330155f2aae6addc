import { openTurns } from '../../../platform/pacing/turns.ts';

/** Masks the secrets of a config in texts about it. */
export type SecretMask = {
  /** Adds these values, in any shape. */
  hide(values: readonly unknown[]): Promise<void>;
  /**
   * Returns the text with `********` in place of each secret, also of a fragment of a long one, and
   * of one that the end of a long line cuts. Its time only depends on the length of the text.
   */
  mask(text: string): string;
};

const shown = '********';
/** Shorter texts occur in any sentence by chance. */
const length_min = 4;
/** Shorter texts within JSON are words such as `https`. */
const inner_length_min = 8;
/** A line of a key is at least this long. */
const line_length_min = 16;
/** Lines of a plugin are cut at this length, which may cut a secret. */
const cut_length_min = 4_096;
/** Length from which a part of a secret is no coincidence. */
const cut_part_min = 6;

/** Secrets are searched in parts of this length, so that their number does not slow a line down. */
const part_length = 32;

const pairs_count = 65_536;

/** Returns the index of two characters in a table of all pairs; several pairs share one. */
function pairAt(text: string, at: number): number {
  return (text.charCodeAt(at) * 257 + (text.charCodeAt(at + 1) || 0)) % pairs_count;
}

/** Opens a mask without secrets. */
export function openSecretMask(): SecretMask {
  const parts = new Map<number, Set<string>>();
  const beginnings = new Set<string>();
  // Two characters rule out a secret at most places of a text.
  const pairs = new Uint8Array(pairs_count);
  const know = (part: string) => {
    pairs[pairAt(part, 0)] = 1;
    const known = parts.get(part.length) ?? new Set();
    parts.set(part.length, known.add(part));
    beginnings.add(part.slice(0, cut_part_min));
  };
  return {
    hide: async (values) => {
      const turn = openTurns();
      for (const text of new Set(values.flatMap(textsOf))) {
        for (const form of new Set(formsOf(text))) {
          for (let at = 0; at + part_length < form.length; at += part_length)
            know(form.slice(at, at + part_length));
          know(form.slice(-part_length));
        }
        const pause = turn();
        if (pause !== undefined) await pause;
      }
    },
    mask: (text) => {
      let masked = '';
      let [from, until] = [0, -1];
      for (let at = 0; at < text.length; at += 1) {
        if (pairs[pairAt(text, at)] === 0) continue;
        const found = endOfSecret(text, at, parts) ?? cutEnd(text, at, beginnings);
        if (found === undefined) continue;
        if (at > until) masked += text.slice(from, at) + shown;
        until = Math.max(until, found);
        from = until;
      }
      return masked + text.slice(from);
    },
  };
}

/** Returns the end of the longest part of a secret at this place. */
function endOfSecret(text: string, at: number, parts: Map<number, Set<string>>) {
  let end: number | undefined;
  for (const [length, known] of parts)
    if (at + length > (end ?? at) && known.has(text.slice(at, at + length))) end = at + length;
  return end;
}

/** Returns where a long text's end seems to cut a secret. */
function cutEnd(text: string, at: number, beginnings: ReadonlySet<string>): number | undefined {
  const isCut = text.length >= cut_length_min && text.length - at < part_length;
  return isCut && beginnings.has(text.slice(at, at + cut_part_min)) ? text.length : undefined;
}

/** Returns the texts in a value: also those inside JSON, a file's contents, and each long line. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'number') return textsOf(String(value));
  if (typeof value === 'string') {
    const lines = value.split(/\r?\n/).filter((line) => line.trim().length >= line_length_min);
    return [value.trim(), ...lines.map((line) => line.trim()), ...jsonTexts(value)].filter(
      (text) => text.length >= length_min,
    );
  }
  if (typeof value !== 'object' || value === null) return [];
  const { contents } = value as { contents?: unknown };
  const file = typeof contents === 'string' ? Buffer.from(contents, 'base64').toString() : '';
  return [...textsOf(file), ...Object.values(value).flatMap(textsOf)];
}

function jsonTexts(text: string): string[] {
  if (!/^\s*[[{]/.test(text)) return [];
  try {
    const inner = Object.values(JSON.parse(text) as object).flatMap(textsOf);
    return inner.filter((one) => one.length >= inner_length_min);
  } catch {
    return [];
  }
}

/** Returns the forms of a text that others may repeat: plain, in JSON, in a URL, in base64. */
function formsOf(text: string): string[] {
  return [
    text,
    JSON.stringify(text).slice(1, -1),
    encodeURIComponent(text.toWellFormed()),
    ...base64Of(text).filter((encoded) => encoded.length >= length_min * 2),
  ];
}

/** Also after other text, such as the user before a password, as far as it depends on this one. */
function base64Of(text: string): string[] {
  const bytes = Buffer.from(text);
  const whole = bytes.toString('base64').replace(/=+$/, '');
  const parts = [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    return encoded.slice(
      Math.ceil((before * 4) / 3),
      Math.floor(((before + bytes.length) * 4) / 3),
    );
  });
  return [whole, ...parts].flatMap((one) => [one, one.replaceAll('+', '-').replaceAll('/', '_')]);
}
