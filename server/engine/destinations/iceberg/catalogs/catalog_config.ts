import { Type } from 'typebox';
import { addressFault, isPlainBase } from '../../../../platform/outbound/plain_address.ts';
import {
  defaultChoice,
  defaultText,
  optionalText,
} from '../../../model/destination/config_keys.ts';
import type {
  ConfigViolation,
  DestinationDefinition,
} from '../../../model/destination/destination.ts';
import { violation } from '../../../model/destination/violation.ts';
import { nullable } from '../../../../platform/nullable.ts';

/**
 * The catalog of a table, with the keys that a user has set; null and empty texts count as absent.
 */
export type CatalogConfig = {
  storage: string;
  catalog?: 'sluice' | 'rest' | 'glue';
  catalog_uri?: string | null;
  catalog_warehouse?: string | null;
  catalog_token?: string | null;
  catalog_client_id?: string | null;
  catalog_client_secret?: string | null;
  catalog_scope?: string;
  catalog_token_uri?: string | null;
  catalog_headers?: Record<string, string>;
  catalog_signing_name?: 's3tables' | 'glue' | null;
  region?: string;
  aws_access_key_id?: string | null;
  aws_role_arn?: string | null;
};

/** The keys that name the table's catalog. */
export const catalog_keys = {
  catalog: defaultChoice(
    ['sluice', 'rest', 'glue'],
    '`sluice` is this server. `rest` is a catalog with the Iceberg REST interface. Nessie 0.99.0 ' +
      'was tried. `glue` is the AWS Glue Data Catalog, which was tried against moto alone.',
  ),
  catalog_uri: optionalText(
    2048,
    'The address of the catalog, without `/v1`. With `glue` or a `catalog_signing_name`, leave ' +
      'it out to use AWS.',
  ),
  catalog_warehouse: optionalText(
    1000,
    'The name of the warehouse there, if the catalog has several. For Amazon S3 Tables, the ARN ' +
      'of the table bucket.',
  ),
  catalog_signing_name: Type.Optional(
    nullable(
      Type.Unsafe<'s3tables' | 'glue'>({
        type: 'string',
        enum: ['s3tables', 'glue'],
        default: null,
        description:
          'For a REST catalog of AWS: Amazon S3 Tables, or Glue. Sluice signs requests by the ' +
          'access key or the role of the bucket, in its region.',
      }),
    ),
  ),
  catalog_token: optionalText(16_384, 'Sent as `Authorization: Bearer <token>`.'),
  catalog_client_id: optionalText(
    1000,
    'Sluice asks for a token with this client and its secret. Not with `catalog_token`.',
  ),
  catalog_client_secret: optionalText(4096),
  catalog_scope: defaultText('catalog', 1000, 'Sent with the request for a token.'),
  catalog_token_uri: optionalText(
    2048,
    'The address that gives tokens. If empty, Sluice asks the catalog itself.',
  ),
  catalog_headers: Type.Optional(
    Type.Record(Type.String(), Type.String(), {
      maxProperties: 50,
      default: {},
      description: 'Sent with every request to the catalog, and stored as a secret.',
    }),
  ),
};

/** The meaning of the keys for an export, as in `DestinationDefinition`. */
export const catalog_meaning = {
  secrets: ['catalog_token', 'catalog_client_secret', 'catalog_headers'],
  where: [
    'catalog',
    'catalog_uri',
    'catalog_signing_name',
    'catalog_client_id',
    'catalog_token_uri',
  ],
  ways: ['catalog_client_id', 'catalog_scope', 'catalog_token_uri'],
  only_with: [
    { keys: ['catalog_uri'], key: 'catalog', values: ['rest', 'glue'] },
    {
      keys: Object.keys(catalog_keys).filter((key) => !['catalog', 'catalog_uri'].includes(key)),
      key: 'catalog',
      values: ['rest'],
    },
  ],
} satisfies Partial<DestinationDefinition>;

/** Returns true if another vendor's catalog has the table. */
export function isForeign({ catalog }: CatalogConfig): boolean {
  return catalog === 'rest' || catalog === 'glue';
}

/** Returns the address of a REST catalog, without a trailing slash; by default that of AWS. */
export function catalogUri({ catalog_uri, catalog_signing_name, region }: CatalogConfig): string {
  if (isFilled(catalog_uri)) return catalog_uri.replace(/\/+$/, '');
  return `https://${catalog_signing_name}.${region}.amazonaws.com/iceberg`;
}

/** Returns true for a catalog that keeps its tables in table buckets. */
export function isTableBucket({ catalog, catalog_signing_name }: CatalogConfig): boolean {
  return catalog === 'rest' && catalog_signing_name === 's3tables';
}

/**
 * Returns true if the config has no credentials for the bucket, so that the catalog must issue
 * some.
 */
export function takesVendedKeys(config: CatalogConfig): boolean {
  return (
    config.catalog === 'rest' &&
    config.storage === 'S3' &&
    !isFilled(config.catalog_signing_name) &&
    !isFilled(config.aws_access_key_id) &&
    !isFilled(config.aws_role_arn)
  );
}

/** Checks the keys of a catalog. */
export function catalogViolations(config: CatalogConfig, levels: number): ConfigViolation[] {
  if (!isForeign(config)) return [];
  const { catalog, catalog_uri: uri, storage } = config;
  const found: ConfigViolation[] = [];
  const fault = isFilled(uri) ? baseFault(uri) : undefined;
  if (fault !== undefined) found.push(violation('catalog_uri', fault));
  if (catalog === 'glue') {
    if (storage !== 'S3')
      found.push(violation('storage', 'Tables of Glue have their files in S3.'));
    if (levels > 1)
      found.push(violation('namespace', 'A database of Glue is one name: it has no levels.'));
    return found;
  }
  if (isFilled(config.catalog_signing_name)) found.push(...signingViolations(config, levels));
  else if (!isFilled(uri))
    found.push(violation('catalog_uri', 'A REST catalog has an address.', 'required'));
  return [...found, ...signInViolations(config)];
}

function signingViolations(config: CatalogConfig, levels: number): ConfigViolation[] {
  const { catalog_warehouse: warehouse, region, storage } = config;
  const found: ConfigViolation[] = [];
  if (storage !== 'S3')
    found.push(violation('storage', 'Tables of a catalog of AWS have their files in S3.'));
  if (levels > 1)
    found.push(violation('namespace', 'A namespace of AWS is one name: it has no levels.'));
  for (const key of ['catalog_token', 'catalog_client_id'] as const)
    if (isFilled(config[key]))
      found.push(violation(key, 'Requests are signed by AWS keys, so they carry no token.'));
  if (!isTableBucket(config)) return found;
  const arn = /^arn:aws[a-z-]*:s3tables:([a-z0-9-]+):\d{12}:bucket\/[^/]+$/.exec(warehouse ?? '');
  if (arn === null)
    found.push(
      violation(
        'catalog_warehouse',
        'Give the ARN of the table bucket, such as ' +
          'arn:aws:s3tables:eu-central-1:123456789012:bucket/name.',
        isFilled(warehouse) ? 'invalid_input' : 'required',
      ),
    );
  else if (isFilled(region) && arn[1] !== region)
    found.push(violation('region', `The table bucket is in ${arn[1]}.`));
  return found;
}

function signInViolations(config: CatalogConfig): ConfigViolation[] {
  const {
    catalog_token: token,
    catalog_client_id: client_id,
    catalog_client_secret: client_secret,
    catalog_token_uri: token_uri,
  } = config;
  const found: ConfigViolation[] = [];
  if (isFilled(token) && isFilled(client_id))
    found.push(violation('catalog_token', 'Give a token or a client, not both.'));
  if (isFilled(token) && !/^[\x21-\x7e]*$/.test(token))
    found.push(
      violation(
        'catalog_token',
        'The token must consist of visible ASCII characters without spaces.',
      ),
    );
  if (isFilled(client_id) !== isFilled(client_secret))
    found.push(
      violation(
        isFilled(client_id) ? 'catalog_client_secret' : 'catalog_client_id',
        'A client and its secret go together.',
        'required',
      ),
    );
  const fault = isFilled(token_uri) ? addressFault(token_uri) : undefined;
  if (fault !== undefined) found.push(violation('catalog_token_uri', fault));
  const isUsable = ([name, value]: [string, string]) =>
    /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name) && /^[\t\x20-\x7e]{0,8192}$/.test(value);
  if (!Object.entries(config.catalog_headers ?? {}).every(isUsable))
    found.push(
      violation('catalog_headers', 'A header has a name or a value that HTTP does not allow.'),
    );
  return found;
}

function baseFault(uri: string): string | undefined {
  return isPlainBase(uri)
    ? addressFault(uri)
    : 'Must be an http or https address without user, password, query or fragment.';
}

function isFilled(text: string | null | undefined): text is string {
  return (text ?? '') !== '';
}
