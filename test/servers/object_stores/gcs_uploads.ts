import { createHash, randomUUID } from 'node:crypto';
import type http from 'node:http';
import { bucketOf, Refused, page_size } from './gcs_store.ts';
import type { Upload, Bucket, Store, Answer } from './gcs_store.ts';

const part_bytes_min = 5 * 1024 * 1024;

const xml = (body: string): Answer => ({
  status: 200,
  type: 'application/xml; charset=UTF-8',
  body: `<?xml version='1.0' encoding='UTF-8'?>${body}`,
});

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

/** Answers a request of the XML interface for uploads in parts. */
export function answerXml(
  store: Store,
  request: http.IncomingMessage,
  url: URL,
  body: Buffer,
): Answer {
  const [, bucketName = '', ...rest] = url.pathname.split('/');
  const bucket = bucketOf(store, decodeURIComponent(bucketName));
  const key = rest.map(decodeURIComponent).join('/');
  const id = url.searchParams.get('uploadId');
  if (url.searchParams.has('uploads'))
    return request.method === 'POST' ? startUpload(bucket, key, request) : listUploads(bucket, url);
  const upload = bucket.uploads.get(id ?? '');
  if (upload === undefined || upload.key !== key) throw new Refused(404, 'NoSuchUpload');
  switch (request.method) {
    case 'PUT': {
      const etag = `"${createHash('md5').update(body).digest('hex')}"`;
      upload.parts.set(Number(url.searchParams.get('partNumber')), { bytes: body, etag });
      return { status: 200, headers: { etag } };
    }
    case 'POST':
      completeUpload(bucket, id ?? '', upload, body.toString());
      return xml(
        `<CompleteMultipartUploadResult><Key>${escaped(key)}</Key></CompleteMultipartUploadResult>`,
      );
    case 'DELETE':
      bucket.uploads.delete(id ?? '');
      return { status: 204 };
    default:
      return listParts(upload, Number(url.searchParams.get('part-number-marker') ?? 0));
  }
}

function startUpload(bucket: Bucket, key: string, request: http.IncomingMessage): Answer {
  const id = randomUUID();
  const metadata = Object.fromEntries(
    Object.entries(request.headers).flatMap(([name, value]) =>
      name.startsWith('x-goog-meta-') ? [[name.slice('x-goog-meta-'.length), String(value)]] : [],
    ),
  );
  bucket.uploads.set(id, {
    key,
    content_type: String(request.headers['content-type']),
    metadata,
    parts: new Map(),
  });
  return xml(
    `<InitiateMultipartUploadResult><Key>${escaped(key)}</Key>` +
      `<UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
  );
}

function completeUpload(bucket: Bucket, id: string, upload: Upload, body: string): void {
  const asked = [...body.matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>([^<]+)<\/ETag>/g)].map(
    ([, number, etag]) => ({ number: Number(number), etag }),
  );
  const parts = asked.map(({ number, etag }) => {
    const part = upload.parts.get(number);
    if (part === undefined || part.etag !== etag?.replaceAll('&quot;', '"'))
      throw new Refused(400, 'InvalidPart');
    return part.bytes;
  });
  if (
    parts.length === 0 ||
    asked.some((part, index) => part.number <= (asked[index - 1]?.number ?? 0))
  )
    throw new Refused(400, 'InvalidPartOrder');
  if (parts.slice(0, -1).some((bytes) => bytes.length < part_bytes_min))
    throw new Refused(400, 'EntityTooSmall');
  bucket.uploads.delete(id);
  bucket.objects.set(upload.key, {
    bytes: Buffer.concat(parts),
    content_type: upload.content_type,
    metadata: upload.metadata,
    updated: new Date().toISOString(),
  });
}

function listUploads(bucket: Bucket, url: URL): Answer {
  const {
    prefix = '',
    'key-marker': key = '',
    'upload-id-marker': id = '',
  } = Object.fromEntries(url.searchParams) as Record<string, string>;
  const place = (upload: { key: string; id: string }) => `${upload.key}\0${upload.id}`;
  const uploads = [...bucket.uploads]
    .map(([uploadId, upload]) => ({ key: upload.key, id: uploadId }))
    .sort((one, other) => (place(one) < place(other) ? -1 : 1));
  const left = uploads.filter(
    (upload) => upload.key.startsWith(prefix) && place(upload) > `${key}\0${id}`,
  );
  const page = left.slice(0, page_size);
  const [isMore, last] = [left.length > page_size, page.at(-1)];
  const next =
    isMore && last !== undefined
      ? `<NextKeyMarker>${escaped(last.key)}</NextKeyMarker>` +
        `<NextUploadIdMarker>${last.id}</NextUploadIdMarker>`
      : '';
  const list = page
    .map(
      (upload) =>
        `<Upload><Key>${escaped(upload.key)}</Key><UploadId>${upload.id}</UploadId></Upload>`,
    )
    .join('');
  return xml(
    `<ListMultipartUploadsResult>${next}<IsTruncated>${isMore}</IsTruncated>` +
      `${list}</ListMultipartUploadsResult>`,
  );
}

function listParts(upload: Upload, marker: number): Answer {
  const left = [...upload.parts]
    .filter(([number]) => number > marker)
    .sort(([one], [other]) => one - other);
  const page = left.slice(0, page_size);
  const isMore = left.length > page_size;
  const next = isMore ? `<NextPartNumberMarker>${page.at(-1)?.[0]}</NextPartNumberMarker>` : '';
  const list = page.map(
    ([number, part]) =>
      `<Part><PartNumber>${number}</PartNumber><ETag>${escaped(part.etag)}</ETag>` +
      `<Size>${part.bytes.length}</Size></Part>`,
  );
  return xml(
    `<ListPartsResult>${next}<IsTruncated>${isMore}</IsTruncated>` +
      `${list.join('')}</ListPartsResult>`,
  );
}
