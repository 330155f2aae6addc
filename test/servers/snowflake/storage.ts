import { createDecipheriv, randomBytes } from 'node:crypto';
import type http from 'node:http';
import { gunzipSync } from 'node:zlib';

/** The vendor whose storage holds the account's internal stages. */
export type StorageKind = 'S3' | 'AZURE' | 'GCS';

type StoredFile = { bytes: Buffer; encrypted_key: string; iv: string };

/**
 * The storage of internal stages: clients upload files that they have encrypted, and the account
 * reads them.
 */
export type SnowflakeStorage = {
  kind: StorageKind;
  /** Host and port for clients. */
  address: string;
  /**
   * Returns the answer to a PUT: the place of the file, its temporary credentials, and the
   * encryption key.
   */
  transferTo(folder: string, file: string): Record<string, unknown>;
  /** Accepts an upload in the form of the kind; answers 403 without the credentials. */
  take(request: http.IncomingMessage, body: Buffer, response: http.ServerResponse): void;
  /**
   * Returns the content of a file as the account reads it: unchanged, unless a test spoils values.
   */
  kept(content: Buffer): Buffer;
  /** Returns the files under a folder, decrypted and decompressed, by name. */
  read(folder: string): Map<string, Buffer>;
  remove(folder: string): void;
  /** Returns true if the path belongs to the storage. */
  owns(path: string): boolean;
};

const master_key = randomBytes(16);
const bucket = 'sluice.stages';
const token = `token-${randomBytes(12).toString('hex')}`;

/** Opens an empty one at a host and port. */
export function openSnowflakeStorage(address: string): SnowflakeStorage {
  const files = new Map<string, StoredFile>();
  const under = (folder: string) =>
    [...files.keys()].filter((path) => path.startsWith(`/${bucket}/${folder}/`));
  const storage: SnowflakeStorage = {
    kind: 'S3',
    address,
    transferTo: (folder, file) => ({
      command: 'UPLOAD',
      src_locations: [file],
      autoCompress: false,
      sourceCompression: 'gzip',
      overwrite: true,
      parallel: 4,
      stageInfo: {
        locationType: storage.kind,
        location: `${bucket}/${folder}/`,
        region: 'eu-central-1',
        storageAccount: 'account',
        ...accessOf(storage),
      },
      encryptionMaterial: {
        queryStageMasterKey: master_key.toString('base64'),
        queryId: 'query',
        smkId: 92_233_720_368,
      },
    }),
    take: (request, body, response) => {
      if (!hasToken(request, storage.kind)) return void response.writeHead(403).end();
      files.set(new URL(request.url ?? '/', 'https://host').pathname, {
        bytes: body,
        ...envelopeOf(request.headers),
      });
      response.writeHead(storage.kind === 'AZURE' ? 201 : 200, { etag: '"1"' }).end();
    },
    kept: (content) => content,
    read: (folder) =>
      new Map(
        under(folder).map((path) => [path, storage.kept(gunzipSync(decrypt(files.get(path)!)))]),
      ),
    remove: (folder) => under(folder).forEach((path) => files.delete(path)),
    owns: (path) => path.startsWith(`/${bucket}/`),
  };
  return storage;
}

function accessOf({ kind, address }: SnowflakeStorage): Record<string, unknown> {
  if (kind === 'S3')
    return {
      endPoint: address,
      creds: { AWS_KEY_ID: 'key', AWS_SECRET_KEY: 'secret', AWS_TOKEN: token },
    };
  if (kind === 'GCS') return { endPoint: address, creds: { GCS_ACCESS_TOKEN: token } };
  return { endPoint: `https://${address}`, creds: { AZURE_SAS_TOKEN: `?sig=${token}` } };
}

function hasToken(request: http.IncomingMessage, kind: StorageKind): boolean {
  if (kind === 'S3') return request.headers['x-amz-security-token'] === token;
  if (kind === 'GCS') return request.headers.authorization === `Bearer ${token}`;
  return new URL(request.url ?? '/', 'https://host').searchParams.get('sig') === token;
}

/**
 * The key of the file, encrypted with the master key, and the initialization vector: in two headers
 * of S3, in one of the others.
 */
function envelopeOf(headers: http.IncomingHttpHeaders): Pick<StoredFile, 'encrypted_key' | 'iv'> {
  const text = headers['x-ms-meta-encryptiondata'] ?? headers['x-goog-meta-encryptiondata'];
  if (typeof text !== 'string')
    return {
      encrypted_key: String(headers['x-amz-meta-x-amz-key']),
      iv: String(headers['x-amz-meta-x-amz-iv']),
    };
  const data = JSON.parse(text) as {
    WrappedContentKey: { EncryptedKey: string };
    ContentEncryptionIV: string;
  };
  return { encrypted_key: data.WrappedContentKey.EncryptedKey, iv: data.ContentEncryptionIV };
}

function decrypt({ bytes, encrypted_key, iv }: StoredFile): Buffer {
  const keys = createDecipheriv('aes-128-ecb', master_key, null);
  const key = Buffer.concat([keys.update(Buffer.from(encrypted_key, 'base64')), keys.final()]);
  const contents = createDecipheriv('aes-128-cbc', key, Buffer.from(iv, 'base64'));
  return Buffer.concat([contents.update(bytes), contents.final()]);
}
