import { isFields } from '../../../../../platform/fields.ts';
import { NonRetryableError } from '../../../../model/destination/errors.ts';
import type { TableName } from '../../../../model/lake_catalog/tables.ts';
import { catalogUri } from '../catalog_config.ts';
import type { CatalogConfig } from '../catalog_config.ts';
import { requireSuccess } from '../request.ts';
import type { RestClient } from './rest_client.ts';

/** The paths of a catalog, from its configuration. */
export type Paths = {
  /** True if the catalog recognizes repeated requests by their Idempotency-Key. */
  announces_keys: boolean;
  namespaces(): URL;
  namespace(levels: string[]): URL;
  tables(levels: string[]): URL;
  table(name: TableName): URL;
};

/** Reads the configuration of the warehouse. Throws if it would send requests to another host. */
export async function openPaths(config: CatalogConfig, client: RestClient): Promise<Paths> {
  const base = catalogUri(config);
  const url = new URL(`${base}/v1/config`);
  const warehouse = config.catalog_warehouse ?? '';
  if (warehouse !== '') url.searchParams.set('warehouse', warehouse);
  const answer = await client.ask({ method: 'GET', url });
  if (answer.status === 400 || (answer.status === 404 && answer.said !== ''))
    throw new NonRetryableError(
      'warehouse_missing',
      `The catalog has no warehouse "${warehouse}"` +
        `${answer.said === '' ? '' : ` (${answer.said})`}. Check catalog_warehouse.`,
    );
  const fields = requireSuccess(answer);
  const told: Record<string, unknown> = {
    ...(isFields(fields['defaults']) ? fields['defaults'] : {}),
    ...(isFields(fields['overrides']) ? fields['overrides'] : {}),
  };
  const prefix =
    typeof told['prefix'] === 'string' ? told['prefix'].replaceAll(/^\/|\/$/g, '') : '';
  const separator =
    typeof told['namespace-separator'] === 'string' ? told['namespace-separator'] : '%1F';
  const below = `${base}/v1/${prefix === '' ? '' : `${prefix}/`}`;
  const at = (path: string) => {
    const found = new URL(below + path);
    if (!found.href.startsWith(new URL(`${base}/v1/`).href))
      throw new NonRetryableError(
        'redirect_refused',
        'The configuration of the catalog leads to another address. Set catalog_uri to it.',
      );
    return found;
  };
  const joined = (levels: string[]) => levels.map(encodeURIComponent).join(separator);
  return {
    announces_keys: fields['idempotency-key-lifetime'] !== undefined,
    namespaces: () => at('namespaces'),
    namespace: (levels) => at(`namespaces/${joined(levels)}`),
    tables: (levels) => at(`namespaces/${joined(levels)}/tables`),
    table: ({ levels, name }) =>
      at(`namespaces/${joined(levels)}/tables/${encodeURIComponent(name)}`),
  };
}
