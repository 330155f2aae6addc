import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../../house/source_files.ts';
import { freePorts, startProgram } from './processes.ts';
import type { Seaweedfs } from './seaweedfs.ts';

/** The version of Apache Iceberg whose REST fixture is used. */
export const fixture_version = '1.10.0';
const home = join(root, 'peers', 'rest_fixture');
const aws = ['s3', 'sts', 'glue', 'kms', 'dynamodb', 'url-connection-client'];
/** Maven Central lacks the jar with everything, so these are its parts. */
const artifacts = [
  ['org.apache.iceberg', 'iceberg-open-api', fixture_version, 'test-fixtures'],
  ['org.apache.iceberg', 'iceberg-core', fixture_version],
  ['org.apache.iceberg', 'iceberg-core', fixture_version, 'tests'],
  ['org.apache.iceberg', 'iceberg-aws', fixture_version],
  ...aws.map((name) => ['software.amazon.awssdk', name, '2.33.0']),
  ...['api', 'runtime'].map((name) => ['org.apache.hadoop', `hadoop-client-${name}`, '3.4.1']),
  ['org.eclipse.jetty', 'jetty-servlet', '11.0.26'],
  ['org.xerial', 'sqlite-jdbc', '3.50.3.0'],
  ['org.slf4j', 'slf4j-simple', '2.0.17'],
];

/** Brings the fixture by Maven (110 MB). */
export async function installRestFixture(say: (line: string) => void): Promise<void> {
  if (existsSync(join(home, 'jars'))) return;
  say(`Downloading the REST fixture of Apache Iceberg ${fixture_version}`);
  mkdirSync(home, { recursive: true });
  const names = ['groupId', 'artifactId', 'version', 'classifier'];
  const dependencies = artifacts.map((values) => {
    const fields = values.map((value, at) => `<${names[at]}>${value}</${names[at]}>`);
    return `<dependency>${fields.join('')}</dependency>`;
  });
  writeFileSync(
    join(home, 'pom.xml'),
    '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>' +
      '<groupId>peers</groupId><artifactId>peers</artifactId><version>1</version>' +
      `<dependencies>${dependencies.join('')}</dependencies></project>`,
  );
  const options = [`-DoutputDirectory=${join(home, 'jars')}`];
  await promisify(execFile)('mvn', ['-q', '-B', 'dependency:copy-dependencies', ...options], {
    cwd: home,
  });
}

/**
 * Starts it on 127.0.0.1, with a warehouse in a bucket of this store. Needs the `java` of a
 * development kit, which compiles its small main class.
 */
export async function startRestFixture(
  { endpoint, access_key, secret_key }: Seaweedfs,
  bucket: string,
): Promise<{ catalog: string; close(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-fixture-'));
  const [port] = await freePorts(1);
  const properties = {
    'catalog-impl': 'org.apache.iceberg.jdbc.JdbcCatalog',
    uri: `jdbc:sqlite:${join(folder, 'catalog.sqlite')}`,
    'jdbc.schema-version': 'V1',
    warehouse: `s3://${bucket}/`,
    'io-impl': 'org.apache.iceberg.aws.s3.S3FileIO',
    's3.endpoint': endpoint,
    's3.path-style-access': true,
    's3.access-key-id': access_key,
    's3.secret-access-key': secret_key,
    'client.region': 'us-east-1',
  };
  const given = Object.entries(properties).map(([name, value]) => `${name}=${value}`);
  const main = join(import.meta.dirname, 'RestFixture.java');
  const catalog = `http://127.0.0.1:${port}`;
  const started = await startProgram(
    ['java', '-Xmx512m', '-cp', join(home, 'jars', '*'), main, String(port), ...given],
    folder,
    async () => (await fetch(`${catalog}/v1/config`)).status === 200,
  );
  return {
    catalog,
    close: async () => {
      await started.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
