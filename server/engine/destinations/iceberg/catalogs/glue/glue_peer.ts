import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { parseExactJson, writeExactJson } from '../../../../../platform/json/exact_json.ts';
import { isFields } from '../../../../../platform/fields.ts';
import {
  KnownError,
  NonRetryableError,
  RetryableError,
} from '../../../../model/destination/errors.ts';
import { metadataText, newMetadata } from '../../../../model/lake_catalog/metadata.ts';
import { LakeRefused } from '../../../../model/lake_catalog/refusal.ts';
import { metadataUri } from '../../../../model/lake_catalog/tables.ts';
import type { TableName } from '../../../../model/lake_catalog/tables.ts';
import type { S3Place } from '../../../object_store/s3_place.ts';
import { statusError } from '../catalog_faults.ts';
import { putFile, readFile } from '../../world.ts';
import type { Storage } from '../../world.ts';
import type { AskedTable, Commit } from '../catalog.ts';
import type { Loaded, Peer, Sent } from '../peer.ts';
import type { Answer } from '../request.ts';
import { openGlueClient } from './glue_client.ts';
import type { GlueClient } from './glue_client.ts';
import { nextMetadata } from './next_metadata.ts';

type Opened = { ask: GlueClient; storage: Storage; database: string; table: string };

/**
 * Opens a table of the Glue Data Catalog. A commit writes the next metadata file and swaps the
 * table's parameter `metadata_location`; the version of the entry makes that swap conditional.
 */
export function openGluePeer(storage: Storage, { levels, name }: TableName): Peer {
  const place = storage.config as unknown as S3Place;
  const ask = openGlueClient(place, storage);
  const opened = { ask, storage, database: levels.join('.'), table: name };
  return {
    configure: async () => void (await hasDatabase(opened)),
    load: () => load(opened),
    create: (table) => create(opened, table),
    send: (commit, from) => swap(opened, commit, from),
    hasNamespace: () => hasDatabase(opened),
    createNamespace: () => createDatabase(opened),
    drop: async () => {
      const { database: DatabaseName, table: Name } = opened;
      requireDone(await ask('DeleteTable', { DatabaseName, Name }));
    },
  };
}

async function load({ ask, storage, database, table }: Opened): Promise<Loaded | undefined> {
  const answer = await ask('GetTable', { DatabaseName: database, Name: table });
  if (isOf(answer, 'EntityNotFoundException')) return undefined;
  const { Table: found } = requireDone(answer);
  const parameters = isFields(found) && isFields(found['Parameters']) ? found['Parameters'] : {};
  const { metadata_location } = parameters;
  if (typeof metadata_location !== 'string')
    throw new NonRetryableError(
      'table_unsuitable',
      `The table ${database}.${table} of Glue is no Iceberg table. Export to another table.`,
    );
  const bytes = await readFile(storage, metadata_location);
  const text = metadata_location.endsWith('.gz.metadata.json')
    ? (await promisify(gunzip)(bytes)).toString()
    : bytes.toString();
  const version = textOf(found, 'VersionId');
  return {
    metadata: parseExactJson(text) as Loaded['metadata'],
    storage: {},
    pointer: { metadata_location, version },
  };
}

async function create(opened: Opened, asked: AskedTable): Promise<Loaded> {
  const { ask, storage, database } = opened;
  await createDatabase(opened);
  const metadata = newMetadata({
    table_uuid: randomUUID(),
    location: asked.location,
    schema: asked.schema,
    properties: asked.properties,
    now_ms: storage.clock.now(),
  });
  const uri = metadataUri(asked.location, 0);
  await putFile(storage, uri, metadataText(writeExactJson(metadata), '', ''));
  const answer = await ask('CreateTable', {
    DatabaseName: database,
    TableInput: tableInput(opened, asked.location, { metadata_location: uri }),
  });
  if (isOf(answer, 'AlreadyExistsException'))
    throw new RetryableError('conflict', 'Another writer created the table at this moment.');
  requireDone(answer);
  const loaded = await load(opened);
  if (loaded === undefined)
    throw new RetryableError('conflict', 'The table was dropped as soon as it was created.');
  return loaded;
}

async function swap(opened: Opened, commit: Commit, from: Loaded): Promise<Sent> {
  const { ask, storage, database } = opened;
  const { metadata_location: before, version } = from.pointer!;
  let text: string;
  try {
    text = nextMetadata(from, commit, storage.clock.now());
  } catch (error) {
    if (error instanceof LakeRefused && error.status === 409) return 'conflict';
    throw error instanceof LakeRefused
      ? new NonRetryableError('table_unsuitable', error.message)
      : error;
  }
  const { location } = from.metadata;
  const number = Number(/(?:^|\/)v?(\d+)[^/]*$/.exec(before)?.[1] ?? 0) + 1;
  const metadata_location = metadataUri(location, number);
  await putFile(storage, metadata_location, text);
  let answer: Answer;
  try {
    answer = await ask('UpdateTable', {
      DatabaseName: database,
      TableInput: tableInput(opened, location, {
        metadata_location,
        previous_metadata_location: before,
      }),
      SkipArchive: true,
      VersionId: version,
    });
  } catch (error) {
    if (!(error instanceof KnownError) || error instanceof NonRetryableError) throw error;
    return { doubt: error };
  }
  if (isOf(answer, 'ConcurrentModificationException', 'VersionMismatchException'))
    return 'conflict';
  if (isOf(answer, 'EntityNotFoundException')) return 'conflict';
  if (answer.status >= 200 && answer.status <= 299) return 'applied';
  if (answer.status < 500 && answer.status !== 408) throw faultOf(answer);
  return { doubt: statusError(answer.status, answer.said) };
}

function tableInput(
  { table }: Opened,
  location: string,
  pointer: { metadata_location: string; previous_metadata_location?: string },
) {
  return {
    Name: table,
    TableType: 'EXTERNAL_TABLE',
    Parameters: { table_type: 'ICEBERG', EXTERNAL: 'TRUE', ...pointer },
    StorageDescriptor: { Location: location },
  };
}

async function hasDatabase({ ask, database }: Opened): Promise<boolean> {
  const answer = await ask('GetDatabase', { Name: database });
  if (isOf(answer, 'EntityNotFoundException')) return false;
  requireDone(answer);
  return true;
}

async function createDatabase(opened: Opened): Promise<void> {
  if (await hasDatabase(opened)) return;
  const answer = await opened.ask('CreateDatabase', { DatabaseInput: { Name: opened.database } });
  if (!isOf(answer, 'AlreadyExistsException')) requireDone(answer);
}

/** Returns the field of an answer as text; empty if it is missing. */
function textOf(fields: unknown, name: string): string {
  const value = isFields(fields) ? fields[name] : undefined;
  return typeof value === 'string' ? value : '';
}

/** The name of the fault may have a namespace before it, or a URL after it. */
function isOf({ status, fields }: Answer, ...names: string[]): boolean {
  const type = textOf(fields, '__type').replace(/^.*#/, '').replace(/:.*$/, '');
  return status >= 400 && names.includes(type);
}

function requireDone(answer: Answer): Record<string, unknown> {
  if (answer.status >= 200 && answer.status <= 299) return answer.fields;
  throw faultOf(answer);
}

/** Glue answers 400 to almost everything; the name tells more. */
function faultOf(answer: Answer): KnownError {
  const { said } = answer;
  if (isOf(answer, 'AccessDeniedException'))
    return new NonRetryableError(
      'permission_denied',
      `AWS does not allow it (${said}). Allow glue:GetDatabase, glue:CreateDatabase, ` +
        'glue:GetTable, glue:CreateTable, glue:UpdateTable and glue:DeleteTable.',
    );
  if (
    isOf(
      answer,
      'UnrecognizedClientException',
      'InvalidSignatureException',
      'ExpiredTokenException',
      'IncompleteSignatureException',
    )
  )
    return new NonRetryableError(
      'authentication_failed',
      `AWS Glue refused the access key or its secret (${said}).`,
    );
  if (isOf(answer, 'ThrottlingException'))
    return new RetryableError('throttled', 'AWS Glue asks for fewer requests.');
  return statusError(answer.status, said);
}
