import { RetryableError } from '../../model/destination/errors.ts';
import { strangeAnswerError } from '../object_store/faults.ts';
import { partTimeout } from '../object_store/object_store.ts';
import type { ObjectStore, OpenUpload, Part } from '../object_store/object_store.ts';
import { endUploadsBut } from '../object_store/upload.ts';
import type { GoogleClient } from './client.ts';
import { unlessMissing } from './faults.ts';
import { elementsOf, escapeXml, readXml, textOfElement } from './xml.ts';

/** The key of an object's metadata for our mark. */
export const mark_name = 'sluice-upload';

type Uploads = Pick<
  ObjectStore,
  'startUpload' | 'uploadPart' | 'completeUpload' | 'endUpload' | 'endUploads' | 'listParts'
>;

/**
 * Uploads by the multipart uploads of Google's XML API. Guarantee: only its completion shows an
 * object. The resumable uploads of the JSON API cannot do that. Before the request that also shows
 * the object, they only store whole multiples of 256 KiB, so the end of each slice would have to
 * wait elsewhere.
 */
export function openUploads(client: GoogleClient, bucket: string, signal: AbortSignal): Uploads {
  const pathOf = (key: string, query: Record<string, string>) =>
    `/${bucket}/${key.split('/').map(encodeURIComponent).join('/')}` +
    `?${new URLSearchParams(query).toString()}`;
  const endUpload: Uploads['endUpload'] = async (key, uploadId, ending) => {
    await unlessMissing(() =>
      client.text({ method: 'DELETE', path: pathOf(key, { uploadId }), signal: ending }),
    );
  };
  return {
    startUpload: async (key, { mark, content_type }) => {
      const headers = { 'content-type': content_type, [`x-goog-meta-${mark_name}`]: mark };
      const { text } = await client.text({
        method: 'POST',
        path: pathOf(key, { uploads: '' }),
        headers,
        signal,
      });
      const uploadId = textOfElement(readXml(text), 'UploadId');
      if (uploadId === undefined) throw strangeAnswerError('name to an upload');
      return uploadId;
    },
    uploadPart: async (key, uploadId, number, bytes, stop) => {
      const { headers } = await client.text({
        method: 'PUT',
        path: pathOf(key, { partNumber: String(number), uploadId }),
        body: bytes,
        signal: AbortSignal.any([signal, stop]),
        timeout_milliseconds: partTimeout(bytes.length),
      });
      return { number, etag: headers.get('etag') ?? '' };
    },
    completeUpload: (key, uploadId, parts) =>
      completeUpload(client, pathOf(key, { uploadId }), parts, signal),
    endUpload,
    endUploads: (prefix, kept, isOurs) =>
      endUploadsBut(
        kept,
        listUploads(client, bucket, prefix, signal),
        (key, uploadId) => endUpload(key, uploadId, signal),
        isOurs,
      ),
    listParts: (key, uploadId) =>
      unlessMissing(() =>
        listParts(client, (query) => pathOf(key, { uploadId, ...query }), signal),
      ),
  };
}

async function completeUpload(
  client: GoogleClient,
  path: string,
  parts: Part[],
  signal: AbortSignal,
): Promise<boolean> {
  const list = parts
    .map(
      ({ number, etag }) =>
        `<Part><PartNumber>${number}</PartNumber><ETag>${escapeXml(etag)}</ETag></Part>`,
    )
    .join('');
  const body = `<CompleteMultipartUpload>${list}</CompleteMultipartUpload>`;
  const completed = await unlessMissing(() =>
    client.text({
      method: 'POST',
      path,
      headers: { 'content-type': 'application/xml' },
      body,
      signal,
    }),
  );
  if (completed === undefined) return false;
  // As with S3, the status is sent before the store knows the result.
  if (readXml(completed.text).tagName === 'Error')
    throw new RetryableError('store_fault', 'The store could not complete an upload.');
  return true;
}

async function* listUploads(
  client: GoogleClient,
  bucket: string,
  prefix: string,
  signal: AbortSignal,
): AsyncIterable<OpenUpload> {
  let page: Record<string, string> | undefined = {};
  while (page !== undefined) {
    const query = new URLSearchParams({ uploads: '', prefix, ...page }).toString();
    const root = readXml(
      (await client.text({ method: 'GET', path: `/${bucket}?${query}`, signal })).text,
    );
    for (const upload of elementsOf(root, 'Upload'))
      yield {
        key: textOfElement(upload, 'Key') ?? '',
        upload_id: textOfElement(upload, 'UploadId') ?? '',
      };
    const [key, id] = [
      textOfElement(root, 'NextKeyMarker'),
      textOfElement(root, 'NextUploadIdMarker'),
    ];
    const isMore = textOfElement(root, 'IsTruncated') === 'true' && key !== undefined;
    page = isMore
      ? { 'key-marker': key, ...(id === undefined ? {} : { 'upload-id-marker': id }) }
      : undefined;
  }
}

async function listParts(
  client: GoogleClient,
  pathOf: (query: Record<string, string>) => string,
  signal: AbortSignal,
): Promise<(Part & { bytes: number })[]> {
  const parts: (Part & { bytes: number })[] = [];
  let page: Record<string, string> | undefined = {};
  while (page !== undefined) {
    const root = readXml((await client.text({ method: 'GET', path: pathOf(page), signal })).text);
    for (const part of elementsOf(root, 'Part'))
      parts.push({
        number: Number(textOfElement(part, 'PartNumber')),
        etag: textOfElement(part, 'ETag') ?? '',
        bytes: Number(textOfElement(part, 'Size')),
      });
    const marker = textOfElement(root, 'NextPartNumberMarker');
    page =
      textOfElement(root, 'IsTruncated') === 'true' && marker !== undefined
        ? { 'part-number-marker': marker }
        : undefined;
  }
  return parts;
}
