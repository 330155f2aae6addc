import assert from 'node:assert/strict';
import { test } from 'node:test';
import { destinations } from '../../server/engine/destinations/index.ts';
import { readConnectionString } from './connection_string.ts';

const key_file = {
  type: 'service_account',
  project_id: 'p',
  client_email: 'a@p',
  private_key: 'pem',
  private_key_id: 'i',
  token_uri: 'https://t',
};

const cases: [text: string, chosen: string, type: string, typed: object, unused?: string[]][] = [
  [
    'postgres://etl:p%40ss@db.example.com:5433/analytics?sslmode=require&connect_timeout=5',
    '',
    'Postgres',
    {
      host: 'db.example.com',
      port: '5433',
      database: 'analytics',
      user: 'etl',
      password: 'p@ss',
      require_tls: true,
    },
    ['connect_timeout'],
  ],
  [
    ' jdbc:postgresql://db.example.com/d?user=u&password=p&currentSchema=s&sslmode=prefer\n',
    'Postgres',
    'Postgres',
    {
      host: 'db.example.com',
      database: 'd',
      user: 'u',
      password: 'p',
      schema: 's',
      require_tls: false,
    },
  ],
  ['postgresql://u@[::1]/d', '', 'Postgres', { host: '::1', database: 'd', user: 'u' }],
  ['postgres://u@h/d', 'Redshift', 'Redshift', { host: 'h', database: 'd', user: 'u' }],
  [
    'dev.abc.eu-central-1.redshift.amazonaws.com:5439/warehouse',
    '',
    'Redshift',
    { host: 'dev.abc.eu-central-1.redshift.amazonaws.com', port: '5439', database: 'warehouse' },
  ],
  [
    'redshift://u:p@h:5439/d',
    '',
    'Redshift',
    { host: 'h', port: '5439', database: 'd', user: 'u', password: 'p' },
  ],
  [
    'mysql://u:p@h:3307/d?ssl-mode=DISABLED',
    '',
    'MySQL',
    { host: 'h', port: '3307', database: 'd', user: 'u', password: 'p', require_tls: false },
  ],
  ['myorg-acct.snowflakecomputing.com', '', 'Snowflake', { account: 'myorg-acct' }],
  [
    'snowflake://u:p@myorg-acct/DB/PUBLIC?warehouse=WH&role=R',
    '',
    'Snowflake',
    {
      account: 'myorg-acct',
      user: 'u',
      password: 'p',
      database: 'DB',
      schema: 'PUBLIC',
      warehouse: 'WH',
      role: 'R',
    },
  ],
  ['s3://lake/events/day', '', 'S3', { bucket_name: 'lake', prefix: 'events/day' }],
  [
    'https://lake.s3.eu-central-1.amazonaws.com/events/',
    '',
    'S3',
    { bucket_name: 'lake', region: 'eu-central-1', prefix: 'events/' },
  ],
  [
    'https://s3.us-east-1.amazonaws.com/lake/events',
    '',
    'S3',
    { bucket_name: 'lake', region: 'us-east-1', prefix: 'events' },
  ],
  ['gs://lake/events', '', 'GCS', { bucket_name: 'lake', prefix: 'events' }],
  [
    'https://acme.blob.core.windows.net/c/events?sv=1&sig=abc',
    '',
    'AzureBlob',
    { account_name: 'acme', container_name: 'c', prefix: 'events', sas_token: 'sv=1&sig=abc' },
  ],
  [
    'DefaultEndpointsProtocol=https;AccountName=a;AccountKey=b==',
    '',
    'AzureBlob',
    { connection_string: 'DefaultEndpointsProtocol=https;AccountName=a;AccountKey=b==' },
  ],
  [
    'clickhouse://u:p@c.example.com:8443/d',
    '',
    'ClickHouse',
    { url: 'https://c.example.com:8443', user: 'u', password: 'p', database: 'd' },
  ],
  [
    'http://u:p@127.0.0.1:8123/?database=d',
    '',
    'ClickHouse',
    { url: 'http://127.0.0.1:8123', user: 'u', password: 'p', database: 'd' },
  ],
  ['https://example.com/rows?a=1', '', 'HTTP', { url: 'https://example.com/rows?a=1' }],
  ['https://example.com', 'ClickHouse', 'ClickHouse', { url: 'https://example.com' }],
  [
    JSON.stringify(key_file),
    '',
    'BigQuery',
    {
      project_id: 'p',
      client_email: 'a@p',
      private_key: 'pem',
      private_key_id: 'i',
      token_uri: 'https://t',
    },
  ],
  [JSON.stringify(key_file), 'GCS', 'GCS', { service_account_json: JSON.stringify(key_file) }],
];

test('a connection string fills fields that its destination has', () => {
  for (const [text, chosen, type, typed, unused = []] of cases) {
    assert.deepEqual(readConnectionString(text, chosen), { type, typed, unused }, text);
    const definition = destinations.find((one) => one.type === type)!;
    for (const key of Object.keys(typed))
      assert.ok(key in definition.config.properties, `${type} ${key}`);
  }
});

test('a text that is no connection string is refused with a sentence', () => {
  const refusals: [string, RegExp][] = [
    ['hello', /^This is not a connection string/],
    ['', /^This is not a connection string/],
    ['mongodb://h/d', /addresses that start with “mongodb:”/],
    ['postgres://u:a#b@h/d', /%23/],
    ['postgres://u:100%@h/d', /%25/],
    ['postgres://u@one,two/d', /several servers/],
    ['clickhouse://h:9000/d', /8123 or 8443/],
    [
      'postgres://me:p%40ss@db.example.com:70000/wh',
      /^The port in it is not a number from 1 to 65535/,
    ],
    ['mysql://db.example.com:abc/wh', /^The port in it/],
    ['postgres://u:p@a:5432,b:5432/d', /^It names several servers/],
    ['postgres://u:p@a b/d', /^Sluice cannot read the host in it/],
    ['{"type": "authorized_user"}', /not a key file of a Google Cloud/],
    ['{"type": ', /is incomplete/],
  ];
  for (const [text, sentence] of refusals) {
    const read = readConnectionString(text, 'Postgres');
    assert.match('refusal' in read ? read.refusal : '', sentence, text);
  }
});
