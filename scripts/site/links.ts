import { dirname, normalize, posix } from 'node:path';

/** A link or picture in Markdown: the text before its address, the address, and its anchor. */
const link = /(!?\[(?:[^\]\\]|\\.)*\]\()([^)\s#]*)(#[^)\s]*)?\)/g;
const code = /(^```[\s\S]*?^```|(?<!`)(`+)(?!`)[\s\S]*?[^`]\2(?!`))/gm;

/** Returns the paths, from the repository's folder, to which a page there links. */
export function linkedFrom(page: string, text: string): string[] {
  const paths: string[] = [];
  replaceLinks(page, text, (path) => {
    paths.push(path);
    return undefined;
  });
  return paths;
}

/**
 * Replaces the address of every link to a path of the repository by the function's result. If that
 * is undefined, the link becomes its text. Code stays unchanged.
 */
export function replaceLinks(
  page: string,
  text: string,
  addressOf: (path: string) => string | undefined,
): string {
  const kept: string[] = [];
  const hidden = text.replaceAll(code, (piece) => `\0${kept.push(piece) - 1}\0`);
  const replaced = hidden.replaceAll(
    link,
    (whole, before: string, address: string, anchor = '') => {
      if (address === '' || /^[a-z]+:/.test(address)) return whole;
      const target = addressOf(normalize(posix.join(dirname(page), address)));
      if (target !== undefined) return `${before}${target}${anchor})`;
      return before.slice(before.indexOf('[') + 1, -2);
    },
  );
  return replaced.replaceAll(/\0(\d+)\0/g, (_, index: string) => kept[Number(index)]!);
}

/** Returns the address of a page of the site in a link of another page. */
export function relativeAddress(from: string, to: string): string {
  const path = posix.relative(posix.dirname(from), to);
  return path.startsWith('.') ? path : `./${path}`;
}
