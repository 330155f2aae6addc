import { badRequest } from '../../model/lake_catalog/refusal.ts';

/**
 * Matches XML text: besides plain characters, it only allows these five entities and character
 * references.
 */
const text = '(?:[^<>&]|&(?:amp|lt|gt|quot|apos|#\\d{1,7}|#x[0-9a-fA-F]{1,6});)*';
const object = `<Object><Key>(${text})</Key></Object>`;
const whole = new RegExp(
  '^(?:<\\?xml version="1\\.0" encoding="UTF-8"\\?>)?\\s*<Delete(?: xmlns="[^"<>&]*")?>' +
    `(?:${object})*(?:<Quiet>(?:true|false)</Quiet>)?</Delete>\\s*$`,
);
const named: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Most keys of one request, by the limit of S3. */
const keys_max = 1_000;

/**
 * Returns the keys in the body of a request that deletes several objects. Throws 400 for any other
 * form than that of Java's client, because a store might read it differently.
 */
export function deletedKeys(body: string): string[] {
  if (!whole.test(body)) throw badRequest('body must be a list of objects to delete.');
  const keys = [...body.matchAll(new RegExp(object, 'g'))].map(([, key]) => unescaped(key!));
  if (keys.length > keys_max) throw badRequest('body must list at most 1,000 objects.');
  return keys;
}

function unescaped(key: string): string {
  return key.replaceAll(/&(#x?)?([^;]+);/g, (_, number: string | undefined, word: string) =>
    number === undefined
      ? named[word]!
      : character(Number.parseInt(word, number === '#' ? 10 : 16)),
  );
}

function character(code: number): string {
  if (code > 0x10ffff) throw badRequest('body has a character that does not exist.');
  return String.fromCodePoint(code);
}
