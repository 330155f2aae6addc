import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The way in which a tool gets its access token. `people`: somebody authorizes the organization's
 * application at the vendor. `settings`: the tool fetches it with credentials from its settings.
 */
type OauthWay = 'people' | 'settings';

/** A vendor's documented OAuth facts; the operator enters missing ones. */
export type OauthVendor = {
  way: OauthWay;
  /** The page to register applications. */
  register_at?: string;
  authorize_url?: string;
  token_url?: string;
  /** The endpoint that revokes tokens (RFC 7009). */
  revoke_url?: string;
  scopes?: string;
  /** Settings of the tool that come with the tokens, by their names in the answer. */
  settings?: Record<string, string>;
  /** The name of the account in the answer. */
  account?: string;
};

let vendors: Record<string, OauthVendor> | undefined;

function readVendors(): Record<string, OauthVendor> {
  vendors ??= JSON.parse(readFileSync(join(import.meta.dirname, 'vendors.json'), 'utf8')) as Record<
    string,
    OauthVendor
  >;
  return vendors;
}

/** Returns the known facts about the tool's vendor; undefined: the tool does not use OAuth. */
export function findVendor(directory: string): OauthVendor | undefined {
  const known = readVendors();
  return Object.hasOwn(known, directory) ? known[directory] : undefined;
}

/** Lists the directories of the tools that use OAuth. */
export function listOauthTools(): string[] {
  return Object.keys(readVendors());
}
