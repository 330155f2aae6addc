import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Vendor } from './description.ts';

const folder = join(import.meta.dirname, 'rules');

/** The vendors with documented behaviour, by name. */
export function readVendors(): Vendor[] {
  return readdirSync(folder)
    .toSorted()
    .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Vendor);
}
