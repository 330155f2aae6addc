/** Masks the secrets in a text. */
export type Mask = (text: string) => string;

const hidden = '********';
/** Shorter ones would match by chance, and mask harmless text. */
const known_length_min = 6;

/** Names of secrets, with the separator before the value; also within JSON in JSON. */
const name =
  '((?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|credential|signature|' +
  'authorization|cookie)\\w*\\\\*["\']?(?:\\s*[:=]\\s*|[ \\t]{2,}))';
/** Values of a setting that is unset or holds no secret. */
const harmless = '(?!\\\\*["\']?(?:null|true|false|\\(set\\)|[[{]))';

/**
 * Forms of secrets of any origin: keys and tokens of this server and of well-known vendors,
 * passwords in addresses, values after a telling name, private keys. Also e-mail addresses, which
 * are personal data.
 */
const forms: [RegExp, string][] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, hidden],
  [/\b(?:sl[ksp]|whsec|phc|phx|ghp|gho|glpat|npm|xox[a-z])[_-][\w+/=-]{10,}/g, hidden],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{12,}/g, hidden],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, hidden],
  [/(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@"']+@/gi, `$1${hidden}@`],
  [/\b(Bearer|Basic)\s+[\w+/=.~-]{6,}/gi, `$1 ${hidden}`],
  [new RegExp(`${name}${harmless}"(?:[^"\\\\]|\\\\.)*"`, 'gi'), `$1"${hidden}"`],
  [new RegExp(`${name}${harmless}(\\\\+")[\\s\\S]*?\\\\+"`, 'gi'), `$1$2${hidden}$2`],
  [new RegExp(`${name}${harmless}[^\\s,;&}"'\\\\*]+`, 'gi'), `$1${hidden}`],
  [/[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+/g, '(e-mail)'],
];

/**
 * Masks text that looks like a secret and, everywhere, each known secret: in plain, URL and JSON
 * form.
 */
export function openMask(known: Iterable<string>): Mask {
  const spelled = [...known]
    .filter((secret) => secret.length >= known_length_min)
    .flatMap((secret) => [
      secret,
      encodeURIComponent(secret),
      JSON.stringify(secret).slice(1, -1),
      Buffer.from(secret).toString('base64'),
    ]);
  const longest_first = [...new Set(spelled)].toSorted((a, b) => b.length - a.length);
  // Not one pattern for all, because there may be thousands, and engines limit its size.
  return (text) => {
    let masked = text;
    for (const secret of longest_first) masked = masked.replaceAll(secret, hidden);
    for (const [form, instead] of forms) masked = masked.replaceAll(form, instead);
    return masked;
  };
}
