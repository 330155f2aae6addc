import { isPlainBase } from '../../../platform/outbound/plain_address.ts';
import type { ConfigViolation } from '../../model/destination/destination.ts';
import { violation } from '../../model/destination/violation.ts';

/**
 * Checks a prefix that becomes a part of a URL, in which `.` and `..` would lead to another place.
 */
export function dotViolations(prefix: string): ConfigViolation[] {
  if (!prefix.split('/').some((part) => part === '.' || part === '..')) return [];
  return [violation('prefix', 'The prefix must not hold the parts "." or "..".')];
}

/** Checks an `endpoint_url`; undefined counts as absent. */
export function endpointViolations(endpoint: string | undefined): ConfigViolation[] {
  if (endpoint === undefined || isPlainBase(endpoint)) return [];
  return [
    violation(
      'endpoint_url',
      'The endpoint must be an http or https address without user, query or fragment.',
    ),
  ];
}

/** Returns an optional text of a config, or undefined if it is absent, null or empty. */
export function textOf(value: string | null | undefined): string | undefined {
  return value === undefined || value === null || value === '' ? undefined : value;
}

/** The fields of a config that identify a bucket. */
type BucketPlace = {
  bucket_name: string;
  region: string;
  endpoint_url?: string | null;
  use_virtual_style_addressing?: boolean;
};

/**
 * Checks the name of a bucket and its region. AWS, and other stores on request, use the name as a
 * part of the host name, which allows less than a path.
 */
export function bucketViolations(place: BucketPlace): ConfigViolation[] {
  const found: ConfigViolation[] = [];
  if (!/^[A-Za-z0-9-]+$/.test(place.region))
    found.push(
      violation('region', 'The region must be letters, digits and hyphens, such as eu-central-1.'),
    );
  const isInHost =
    textOf(place.endpoint_url) === undefined || place.use_virtual_style_addressing === true;
  if (isInHost && !/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(place.bucket_name)) {
    found.push(
      violation(
        'bucket_name',
        'A bucket name is 3 to 63 lower-case letters, digits, dots and hyphens, and begins ' +
          'and ends with a letter or digit.',
      ),
    );
  } else if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]$/.test(place.bucket_name)) {
    found.push(
      violation(
        'bucket_name',
        'A bucket name is at least three letters, digits, dots, hyphens or underscores, and ' +
          'begins and ends with a letter or digit.',
      ),
    );
  }
  return found;
}
