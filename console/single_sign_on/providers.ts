import { addressOf } from '../http/address.ts';
import { reading } from '../http/reading.ts';
import type { Provider } from './provider_names.ts';
import { pathTo } from '../http/path.ts';

/** The providers of this server; with an address, those that its domain allows. */
export function providersFor(email?: string) {
  return reading(pathTo('/api/single_sign_on/', {}, { email }), { polls: false });
}

/** Returns the address that starts a sign-in through the provider, with the query of its page. */
export function providerAddress(
  provider: Provider,
  query: { email?: string | undefined; next?: string | undefined },
): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  );
  const asked = new URLSearchParams(given).toString();
  return addressOf(`/login/${provider}/${asked === '' ? '' : `?${asked}`}`);
}
