import { badRequest } from '../../model/lake_catalog/refusal.ts';

/** A text of XML: its only signs besides letters are these five and numbers of characters. */
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
 * The keys that the body of a request to delete several objects names. Throws 400 for a body of
 * another form than that of Java's client: a store might read it in another way.
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
