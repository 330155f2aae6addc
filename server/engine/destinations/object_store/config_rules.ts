import { isPlainBase } from '../../../platform/outbound/plain_address.ts';
import type { ConfigViolation } from '../../model/destination/destination.ts';
import { violation } from '../../model/destination/violation.ts';

/**
 * Violations of a prefix that becomes a part of an address, where the parts `.` and `..` would lead
 * to another place.
 */
export function dotViolations(prefix: string): ConfigViolation[] {
  if (!prefix.split('/').some((part) => part === '.' || part === '..')) return [];
  return [violation('prefix', 'The prefix must not hold the parts "." or "..".')];
}

/** Violations of an `endpoint_url`; undefined is none. */
export function endpointViolations(endpoint: string | undefined): ConfigViolation[] {
  if (endpoint === undefined || isPlainBase(endpoint)) return [];
  return [
    violation(
      'endpoint_url',
      'The endpoint must be an http or https address without user, query or fragment.',
    ),
  ];
}

/** An optional text of a config, or undefined where it is absent, null or empty. */
export function textOf(value: string | null | undefined): string | undefined {
  return value === undefined || value === null || value === '' ? undefined : value;
}

/** The fields of a config that address a bucket. */
type BucketPlace = {
  bucket_name: string;
  region: string;
  endpoint_url?: string | null;
  use_virtual_style_addressing?: boolean;
};

/**
 * Violations of the name of a bucket and of its region. AWS, and another store where it is asked
 * for, has the name as a part of the host name, which allows less than a path.
 */
export function bucketViolations(place: BucketPlace): ConfigViolation[] {
  const found: ConfigViolation[] = [];
  if (!/^[A-Za-z0-9-]+$/.test(place.region))
    found.push(
      violation('region', 'The region must be letters, digits and hyphens, as eu-central-1.'),
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
