import type { TestOrganization } from '../../../test/harness.ts';
import { installNessie, nessie_version, startNessie } from '../../../test/servers/lake/nessie.ts';
import {
  installSeaweedfs,
  seaweedfs_version,
  startSeaweedfs,
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

const names = ['own', 'rest', 'nessie'] as const;
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
  if (name === 'nessie') return openNessie();
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

/** Nessie without a sign-in. Exports to every other table get keys to its files from Nessie. */
async function openNessie(): Promise<Target> {
  await installSeaweedfs(console.log);
  await installNessie(console.log);
  const store = await startSeaweedfs(['lake']);
  const nessie = await startNessie(store, 'lake');
  return {
    name: `Nessie ${nessie_version} on SeaweedFS ${seaweedfs_version}`,
    is_asked: true,
    is_ours: false,
    of: ({ project }) => ({
      config: {
        storage: 'S3',
        bucket_name: 'lake',
        region: 'us-east-1',
        endpoint_url: store.endpoint,
        ...(project.id % 2 === 0 ? {} : storeKeys(store)),
        catalog: 'rest',
        catalog_uri: nessie.catalog,
        catalog_warehouse: 'lake',
      },
      client: {
        uri: nessie.catalog,
        warehouse: 'lake',
        'header.X-Iceberg-Access-Delegation': '',
        ...clientKeys(store),
      },
    }),
    close: async () => {
      await nessie.close();
      await store.close();
    },
  };
}
