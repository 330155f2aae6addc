import { readFileSync } from 'node:fs';

const read = (name: string) =>
  readFileSync(new URL(`../certificates/localhost.${name}`, import.meta.url), 'utf8');

/** The certificate of the tests' servers: self-signed, for the name localhost. */
export const certificate = read('crt');
/** The private key of the certificate. */
export const certificate_key = read('key');
