import type { TestOrganization } from '../../../test/harness.ts';
import { installNessie, nessie_version, startNessie } from '../../../test/servers/lake/nessie.ts';
import {
  fixture_version,
  installRestFixture,
  startRestFixture,
} from '../../../test/servers/lake/rest_fixture.ts';
import {
  installSeaweedfs,
  seaweedfs_version,
  startSeaweedfs,
  tableBucketConfig,
} from '../../../test/servers/lake/seaweedfs.ts';
import type { Seaweedfs } from '../../../test/servers/lake/seaweedfs.ts';

/** A catalog under test. */
export type Target = {
  name: string;
  /** Exports use its REST routes, as for foreign catalogs. */
  is_asked: boolean;
  /** Sluice keeps its tables, so that its maintenance has work there. */
  is_ours: boolean;
  /**
   * The config of an export to a table of a project, and the settings with which PyIceberg opens
   * the catalog.
   */
  of(home: TestOrganization): { config: Record<string, unknown>; client: Record<string, string> };
  close(): Promise<void>;
};

const names = ['own', 'rest', 'nessie', 'fixture', 'tables'] as const;
type Name = (typeof names)[number];

/** The catalogs by the name of `--catalog`; `both` are our own. */
export function targetsOf(asked: string): Name[] {
  if (asked === 'both') return ['own', 'rest'];
  const found = names.filter((name) => name === asked);
  if (found.length === 0) throw new Error(`--catalog is both, ${names.join(' or ')}.`);
  return found;
}

/** Opens a catalog; starts its servers, and installs them into peers/ once. */
export async function openTarget(name: Name, uri: string): Promise<Target> {
  if (name === 'tables') return openTableBucket();
  if (name === 'nessie' || name === 'fixture') return openOnStore(name);
  return {
    name,
    is_asked: name === 'rest',
    is_ours: true,
    of: ({ key, project }) => {
      const warehouse = String(project.id);
      const asked = {
        catalog: 'rest',
        catalog_uri: uri,
        catalog_warehouse: warehouse,
        catalog_token: key,
      };
      return {
        config: { storage: 'File', ...(name === 'rest' ? asked : {}) },
        client: { uri, warehouse, token: key },
      };
    },
    close: async () => undefined,
  };
}

const storeKeys = ({ access_key, secret_key }: Seaweedfs) => ({
  aws_access_key_id: access_key,
  aws_secret_access_key: secret_key,
});
const clientKeys = ({ access_key, secret_key, endpoint }: Seaweedfs) => ({
  's3.endpoint': endpoint,
  's3.access-key-id': access_key,
  's3.secret-access-key': secret_key,
  's3.region': 'us-east-1',
});

const bucketOf = ({ endpoint }: Seaweedfs) => ({
  storage: 'S3',
  bucket_name: 'lake',
  region: 'us-east-1',
  endpoint_url: endpoint,
});

/** A table bucket of SeaweedFS, which accepts nothing but files of Iceberg. */
async function openTableBucket(): Promise<Target> {
  await installSeaweedfs(console.log);
  const store = await startSeaweedfs([], ['lake']);
  const config = tableBucketConfig(store, 'lake');
  return {
    name: `A table bucket of SeaweedFS ${seaweedfs_version}`,
    is_asked: true,
    is_ours: false,
    of: () => ({
      config,
      client: {
        uri: store.catalog,
        warehouse: config.catalog_warehouse,
        credential: `${store.access_key}:${store.secret_key}`,
        ...clientKeys(store),
      },
    }),
    close: store.close,
  };
}

/**
 * A catalog without a sign-in. Exports to every other table of Nessie get keys to its files from
 * Nessie.
 */
async function openOnStore(name: 'nessie' | 'fixture'): Promise<Target> {
  await installSeaweedfs(console.log);
  const is_nessie = name === 'nessie';
  await (is_nessie ? installNessie(console.log) : installRestFixture(console.log));
  const store = await startSeaweedfs(['lake']);
  const peer = await (is_nessie ? startNessie(store, 'lake') : startRestFixture(store, 'lake'));
  const said = is_nessie
    ? `Nessie ${nessie_version}`
    : `The REST fixture of Apache Iceberg ${fixture_version}`;
  const warehouse = is_nessie ? 'lake' : 's3://lake/';
  return {
    name: `${said} on SeaweedFS ${seaweedfs_version}`,
    is_asked: true,
    is_ours: false,
    of: ({ project }) => ({
      config: {
        ...bucketOf(store),
        ...(is_nessie && project.id % 2 === 0 ? {} : storeKeys(store)),
        catalog: 'rest',
        catalog_uri: peer.catalog,
        catalog_warehouse: warehouse,
      },
      client: {
        uri: peer.catalog,
        warehouse,
        'header.X-Iceberg-Access-Delegation': '',
        ...clientKeys(store),
      },
    }),
    close: async () => {
      await peer.close();
      await store.close();
    },
  };
}
