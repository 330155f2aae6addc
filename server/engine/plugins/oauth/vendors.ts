import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The way of a tool to its access token. `people`: somebody authorizes the application of the
 * organization at the vendor. `settings`: the tool gets it with credentials among its settings.
 */
type OauthWay = 'people' | 'settings';

/** The facts about OAuth of a vendor, as it documents them; what is missing the operator enters. */
export type OauthVendor = {
  way: OauthWay;
  /** Where applications are registered. */
  register_at?: string;
  authorize_url?: string;
  token_url?: string;
  /** The address that revokes tokens (RFC 7009). */
  revoke_url?: string;
  scopes?: string;
  /** Settings of the tool that come with the tokens, by the names in the answer. */
  settings?: Record<string, string>;
  /** The name in the answer that says whose the tokens are. */
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

/** Returns what is known of the tool's vendor; undefined: the tool does not use OAuth. */
export function findVendor(directory: string): OauthVendor | undefined {
  const known = readVendors();
  return Object.hasOwn(known, directory) ? known[directory] : undefined;
}

/** Lists the directories of the tools that use OAuth. */
export function listOauthTools(): string[] {
  return Object.keys(readVendors());
}
