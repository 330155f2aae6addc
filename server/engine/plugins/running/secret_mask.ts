/** Takes the secrets of a config out of what is said about it. */
export type SecretMask = {
  /** Knows these values from now on, whatever their shape. */
  hide(values: readonly unknown[]): void;
  /**
   * The text with `********` in the place of each of them, also of one that the end of a long line
   * cuts.
   */
  mask(text: string): string;
};

const shown = '********';
/** Shorter texts are in every sentence by chance. */
const length_min = 4;
/** Of the texts in one of JSON, shorter ones are words such as `https`. */
const inner_length_min = 8;
/** A line of a key is told from chance. */
const line_length_min = 16;
/** Lines of a plugin are cut at this length, and a secret with them. */
const cut_length_min = 4_096;
/** So much of a cut secret is told from chance. */
const cut_part_min = 6;

/** Opens a mask that hides nothing yet. */
export function openSecretMask(): SecretMask {
  const known = new Set<string>();
  // The longest first: one may be a part of another.
  let ordered: string[] = [];
  return {
    hide: (values) => {
      for (const text of values.flatMap(textsOf)) for (const form of formsOf(text)) known.add(form);
      ordered = [...known].toSorted((one, other) => other.length - one.length);
    },
    mask: (text) => {
      const masked = ordered.reduce((rest, secret) => rest.replaceAll(secret, shown), text);
      return text.length < cut_length_min ? masked : withoutCutEnd(masked, ordered);
    },
  };
}

function withoutCutEnd(text: string, secrets: readonly string[]): string {
  for (const secret of secrets) {
    const first = secret.charAt(0);
    let at = text.indexOf(first, Math.max(text.length - secret.length, 0));
    for (; at !== -1 && at <= text.length - cut_part_min; at = text.indexOf(first, at + 1))
      if (secret.startsWith(text.slice(at))) return text.slice(0, at) + shown;
  }
  return text;
}

/**
 * The texts in a value: of JSON also those inside, of a file its contents, of several lines each
 * that is long.
 */
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

/** The forms in which a text is repeated: as it is, in JSON, in an address, in base 64. */
function formsOf(text: string): string[] {
  return [
    text,
    JSON.stringify(text).slice(1, -1),
    encodeURIComponent(text.toWellFormed()),
    ...base64Of(text).filter((encoded) => encoded.length >= length_min * 2),
  ];
}

/** Also behind other text, such as the user of a password, as far as it depends on this one. */
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
