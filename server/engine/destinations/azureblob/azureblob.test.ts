import { brotliDecompressSync } from 'node:zlib';
import { changedFile } from '../../../../test/factories/batch_exports/changed_files.ts';
import { contractColumns } from '../../../../test/factories/batch_exports/contract_rows.ts';
import { testDestination } from '../../../../test/destinations/destination_contract.ts';
import type { Config } from '../../../../test/destinations/destination_world.ts';
import { parseCsv } from '../../../../test/watchers/read_formats.ts';
import { azureblob } from './azureblob.ts';
import {
  openAroundTests,
  deps,
  server,
  reader,
  base,
  signatureFor,
  names,
} from '../../../../test/destinations/azureblob_world.ts';

const opened = openAroundTests();

let places = 0;

const topOf = (config: Config) => `${String(config['prefix']).split('/')[0]}/`;

testDestination({
  definition: azureblob,
  start: () => opened().then(() => deps),
  stop: async () => undefined,
  configure: async () => ({
    ...base,
    prefix: `place ${(places += 1)} (ü%2f&+#?)/{year}-{month}/{table}/`,
    file_format: 'CSV',
    compression: 'brotli',
    connection_string: null,
    sas_token: null,
  }),
  alternatives: async (config) => {
    const { account_key: _key, account_name: _name, endpoint_url: _url, ...rest } = config;
    return [
      {
        ...rest,
        connection_string: `BlobEndpoint=${server.endpoint};SharedAccessSignature=?${signatureFor('rcwdl')}`,
      },
      { ...config, account_key: null, sas_token: signatureFor('rcwdl') },
    ];
  },
  readBack: async (config) => {
    const rows = [];
    for (const name of (await names(topOf(config))).filter((one) => one.endsWith('.csv.br')))
      rows.push(
        ...parseCsv(
          brotliDecompressSync(await reader.getBlobClient(name).downloadToBuffer()),
          contractColumns,
        ),
      );
    return rows;
  },
  leftovers: async (config) => {
    const visible = await names(topOf(config));
    const unseen = (await names(topOf(config), true)).filter((name) => !visible.includes(name));
    return [...unseen, ...visible.filter((name) => name.includes('check'))];
  },
  misconfigure: async () => [
    {
      name: 'wrong key',
      change: { account_key: Buffer.from('a key of nobody').toString('base64') },
      code: 'authentication_failed',
    },
    {
      name: 'forged signature',
      change: {
        account_key: null,
        sas_token: 'sv=2024-11-04&sr=c&sp=rcwdl&sig=forged-by-nobody',
      },
      code: 'authentication_failed',
    },
    {
      name: 'no such container',
      change: { container_name: 'no-such-container' },
      code: 'bucket_missing',
    },
  ],
  invalid: [
    { name: 'container is a path', change: { container_name: 'a/../b' } },
    { name: 'container in capitals', change: { container_name: 'Events' } },
    { name: 'two hyphens', change: { container_name: 'a--b' } },
    { name: 'unknown variable', change: { prefix: '{yesterday}' } },
    { name: 'out of the container', change: { prefix: 'a/../../other' } },
    { name: 'part with a dot at its end', change: { prefix: 'a./b' } },
    { name: 'no account', change: { account_name: null } },
    { name: 'account is a host', change: { account_name: 'evil.example/' } },
    { name: 'neither key nor signature', change: { account_key: null } },
    { name: 'key and signature', change: { sas_token: 'sig=x' } },
    { name: 'key is no base64', change: { account_key: 'a key' } },
    {
      name: 'signature without sig',
      change: { account_key: null, sas_token: 'sv=2024' },
      attr: 'sas_token',
    },
    {
      name: 'connection string and account',
      change: { connection_string: 'AccountName=a;AccountKey=b' },
      attr: 'account_name',
    },
    { name: 'endpoint without protocol', change: { endpoint_url: 'azurite:10000' } },
    { name: 'compression of another format', change: { compression: 'lz4' } },
  ],
  damage: {
    changed: async (_config, [outcome]) => {
      const blob = reader.getBlockBlobClient(outcome?.name ?? '');
      const bytes = await blob.downloadToBuffer();
      bytes[20] = (bytes[20] ?? 0) ^ 1;
      await blob.uploadData(bytes);
    },
    value: async (config, [outcome]) => {
      const blob = reader.getBlockBlobClient(outcome?.name ?? '');
      const bytes = await blob.downloadToBuffer();
      await blob.uploadData(changedFile(bytes, azureblob.encoding(config as never)));
    },
    missing: async (_config, [outcome]) => void (await reader.deleteBlob(outcome?.name ?? '')),
    added: async (_config, [outcome]) =>
      void (await reader
        .getBlockBlobClient((outcome?.name ?? '').replace('-0000.', '-0007.'))
        .upload('x', 1)),
  },
  large_shown_by: 'file.test.ts',
  has_nul: true,
  recovers: true,
});
