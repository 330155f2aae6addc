import type { Static } from 'typebox';
import type { Providers } from '../../server/api/single_sign_on/schema.ts';
import { addressOf } from '../http/address.ts';
import { reading } from '../http/reading.ts';
import type { Provider } from './provider_names.ts';

type Found = Static<typeof Providers>;
/** The providers of this server; with an address, those that its domain leaves. */
export function providersFor(email?: string) {
  const query = email === undefined ? '' : `?${new URLSearchParams({ email }).toString()}`;
  return reading<Found>(`/api/single_sign_on/${query}`, { polls: false });
}

/** Where a sign-in through the provider begins; the query is what that page takes. */
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
