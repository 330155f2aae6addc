import { createRequire } from 'node:module';
import type * as Tldts from 'tldts';

const require = createRequire(import.meta.url);

/** Names of organizations in the list that are no public mail providers. */
const not_providers = [
  'alibaba.com',
  'ancestry.com',
  'aver.com',
  'bt.com',
  'clerk.com',
  'discovery.com',
  'example.com',
  'facebook.com',
  'medscape.com',
  'name.com',
  'nus.edu.sg',
  'oath.com',
  'parrot.com',
  'saudia.com',
  'singpost.com',
  'telstra.com',
  'test.com',
  'test.de',
  'unican.es',
];

/** Providers missing in the list. */
const more_providers = [
  '139.com',
  '189.cn',
  'aleeas.com',
  'disroot.org',
  'duck.com',
  'fastmail.com',
  'gmx.ch',
  'internet.ru',
  'keemail.me',
  'kolabnow.com',
  'mail.de',
  'mailfence.com',
  'mailo.com',
  'mozmail.com',
  'onmicrosoft.com',
  'passmail.net',
  'posteo.de',
  'posteo.net',
  'riseup.net',
  'simplelogin.com',
  'sohu.com',
  'startmail.com',
  'tuta.com',
  'tuta.io',
  'tutamail.com',
  'tutanota.com',
  'tutanota.de',
  'yandex.by',
  'yandex.kz',
  'zohomail.com',
  'zohomail.eu',
];

/** Read with the first domain: the list is long, and domains are rare. */
let known: Set<string> | undefined;

function mailProviders(): Set<string> {
  if (known !== undefined) return known;
  known = new Set([...(require('email-providers/all.json') as string[]), ...more_providers]);
  for (const name of not_providers) known.delete(name);
  return known;
}

/**
 * Returns true if the name is a suffix of the Public Suffix List, of registries (`co.uk`) or hosts
 * (`github.io`), so that no organization owns all names below. `domain` is in lower case and ASCII.
 */
export function isPublicSuffix(domain: string): boolean {
  const { getPublicSuffix } = require('tldts') as typeof Tldts;
  return getPublicSuffix(domain, { allowPrivateDomains: true, extractHostname: false }) === domain;
}

/**
 * Returns the public mail provider of the name or of a parent, or undefined. Source: the package
 * `email-providers`, corrected above. A parent that is a public suffix does not count.
 */
export function findMailProvider(domain: string): string | undefined {
  for (
    let name = domain;
    name.includes('.') && !isPublicSuffix(name);
    name = name.slice(name.indexOf('.') + 1)
  )
    if (mailProviders().has(name)) return name;
  return undefined;
}
