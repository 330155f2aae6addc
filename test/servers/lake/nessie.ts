import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../../house/source_files.ts';
import { findJava, installJava } from './java.ts';
import { freePorts, startProgram } from './processes.ts';
import type { Seaweedfs } from './seaweedfs.ts';

const run = promisify(execFile);
/** The version of Nessie; it is the latest whose program Maven Central has. */
export const nessie_version = '0.99.0';
const home = join(root, 'peers', 'nessie');
const jar = join(home, `nessie-quarkus-${nessie_version}-runner.jar`);

/** Why a test with Nessie has to be skipped; false if it is installed. */
export const without_nessie =
  existsSync(jar) && findJava() !== undefined
    ? false
    : 'Nessie is not in peers/nessie: node test/servers/lake/install.ts brings it.';

/** Brings Nessie by Maven (245 MB), and a Java for it. */
export async function installNessie(say: (line: string) => void): Promise<void> {
  await installJava();
  if (existsSync(jar)) return;
  say(`Downloading Nessie ${nessie_version}`);
  mkdirSync(home, { recursive: true });
  const artifact = `org.projectnessie.nessie:nessie-quarkus:${nessie_version}:jar:runner`;
  const options = [`-Dartifact=${artifact}`, '-Dtransitive=false', `-DoutputDirectory=${home}`];
  await run('mvn', ['-q', '-B', 'dependency:copy', ...options]);
}

/** A Nessie on 127.0.0.1: the address of its Iceberg catalog. */
export type Nessie = { catalog: string; close(): Promise<void> };

/**
 * Starts it with a warehouse in a bucket of this store. It keeps its own state in files. Clients
 * get keys of the store's token service if they ask for some.
 */
export async function startNessie(store: Seaweedfs, bucket: string): Promise<Nessie> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-nessie-'));
  const [port, management] = await freePorts(2);
  const s3 = 'nessie.catalog.service.s3.default-options';
  const options = {
    'quarkus.http.host': '127.0.0.1',
    'quarkus.http.port': port,
    'quarkus.management.host': '127.0.0.1',
    'quarkus.management.port': management,
    'nessie.version.store.type': 'ROCKSDB',
    'nessie.version.store.persist.rocks.database-path': folder,
    'nessie.catalog.default-warehouse': 'lake',
    'nessie.catalog.warehouses.lake.location': `s3://${bucket}/`,
    [`${s3}.endpoint`]: store.endpoint,
    [`${s3}.sts-endpoint`]: store.endpoint,
    [`${s3}.region`]: 'us-east-1',
    [`${s3}.path-style-access`]: true,
    [`${s3}.request-signing-enabled`]: false,
    [`${s3}.access-key`]: 'urn:nessie-secret:quarkus:store',
    [`${s3}.client-iam.enabled`]: true,
    [`${s3}.client-iam.assume-role`]: store.role_arn,
    'store.name': store.access_key,
    'store.secret': store.secret_key,
  };
  const settings = Object.entries(options).map(([name, value]) => `-D${name}=${value}`);
  const catalog = `http://127.0.0.1:${port}/iceberg`;
  const java = ['-Xmx512m', ...settings, '-jar', jar];
  const started = await startProgram(
    [findJava()!, ...java],
    folder,
    async () => (await fetch(`${catalog}/v1/config`)).ok,
  );
  return {
    catalog,
    close: async () => {
      await started.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
