import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { openHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { pyicebergSees, sparkSees } from '../../../test/iceberg_clients/seen.ts';
import {
  jarsOf,
  runClient,
  without,
  withoutMoto,
  withoutSpark,
} from '../../../test/iceberg_clients/run_client.ts';
import { freePort, openMoto } from '../../../test/iceberg_clients/moto.ts';
import type { Moto } from '../../../test/iceberg_clients/moto.ts';
import { openS3Server } from '../../../test/servers/object_stores/s3_server.ts';
import type { S3Server } from '../../../test/servers/object_stores/s3_server.ts';

const no_moto = withoutMoto();
let moto: Moto;
let store: S3Server;
let home: TestOrganization;
let uri: string;
let port: number;
aroundTests(
  async () => {
    port = await freePort();
    store = await openS3Server(['bucket']);
    if (no_moto === false) moto = await openMoto('bucket');
    const opened = await openHarness({
      clickhouse: false,
      config: {
        // Clients ask for signatures there.
        public_url: `http://127.0.0.1:${port}`,
        ...(no_moto === false ? { sts_endpoint_url: moto.endpoint } : {}),
      },
    });
    const close = async () => {
      await opened.close();
      await store.close();
      if (no_moto === false) await moto.close();
    };
    return { ...opened, close };
  },
  async (opened) => {
    home = await opened.newOrganization();
    await opened.app.listen({ host: '127.0.0.1', port });
    uri = `http://127.0.0.1:${port}/iceberg`;
  },
);

/** An export whose bucket has the files of a namespace; gives its id. */
async function newStorage(keys: object): Promise<string> {
  const path = `/api/projects/${home.project.id}/batch_exports/`;
  const { status, body, text } = await home.ask('POST', path, {
    name: 'storage',
    interval: 'hour',
    paused: true,
    destination: {
      type: 'S3',
      config: { bucket_name: 'bucket', region: 'us-east-1', prefix: '', ...keys },
    },
  });
  assert.equal(status, 201, text);
  return body.id as string;
}

const own_keys = ({ access_key, secret_key, endpoint }: S3Server) => ({
  aws_access_key_id: access_key,
  aws_secret_access_key: secret_key,
  endpoint_url: endpoint,
});
const client = (name: string, ...more: string[]) =>
  runClient(name, [uri, home.key, String(home.project.id), ...more], no_keys);
/** Clients have no keys of their own. */
const no_keys = {
  AWS_ACCESS_KEY_ID: '',
  AWS_SECRET_ACCESS_KEY: '',
  AWS_EC2_METADATA_DISABLED: 'true',
  // Each new thread of PyIceberg takes the signer of the others away for a moment.
  PYICEBERG_MAX_WORKERS: '1',
};

test(
  'PyIceberg reads and writes a bucket with signed requests alone',
  { skip: without('pyiceberg', 's3fs') },
  async () => {
    const storage = await newStorage(own_keys(store));
    const fsspec = 'py-io-impl=pyiceberg.io.fsspec.FsspecFileIO';
    const { location, ...seen } = await client('with_pyiceberg', `storage=${storage}`, fsspec);
    assert.match(String(location), /^s3:\/\/bucket\/lake\/\d+\/py\//);
    assert.deepEqual(seen, pyicebergSees);
  },
);

const java = ['iceberg-spark-runtime', 'iceberg-aws-bundle'];
test(
  'Spark reads and writes a bucket with signed requests alone',
  { skip: withoutSpark(...java) },
  async () => {
    const storage = await newStorage(own_keys(store));
    const { version, ...seen } = await client('with_spark', jarsOf(...java), `storage=${storage}`);
    assert.match(String(version), /^4\./);
    const others = without('pyiceberg', 's3fs') === false ? ['py'] : [];
    assert.deepEqual(seen, sparkSees(others));
  },
);

test(
  'PyIceberg and Spark use keys of a token service that end within an hour',
  { skip: no_moto || without('pyiceberg') || withoutSpark(...java) },
  async () => {
    const role = { aws_role_arn: moto.role_arn, endpoint_url: moto.endpoint };
    const own = { aws_access_key_id: moto.access_key, aws_secret_access_key: moto.secret_key };
    const { project } = home;
    const created = await home.ask('POST', '/api/projects/', {
      name: 'Vended',
      organization: home.organization.id,
    });
    home = { ...home, project: created.body };
    try {
      const storage = await newStorage({ ...role, ...own });
      const { location, ...seen } = await client('with_pyiceberg', `storage=${storage}`);
      assert.match(String(location), /^s3:\/\/bucket\/lake\/\d+\/py\//);
      assert.deepEqual(seen, pyicebergSees);
      const { version: _version, ...spark } = await client(
        'with_spark',
        jarsOf(...java),
        `storage=${storage}`,
      );
      assert.deepEqual(spark, sparkSees(['py']));
    } finally {
      home = { ...home, project };
    }
  },
);
