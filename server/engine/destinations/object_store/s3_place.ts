import type { AwsRoles } from '../../model/destination/aws_roles.ts';

/**
 * A bucket, its credentials and its addressing style. Without an access key, the client uses the
 * credentials of the server's environment; the caller decides whether that is allowed. These
 * credentials assume the role, if there is one.
 */
export type S3Place = {
  bucket_name: string;
  region: string;
  aws_access_key_id?: string | null;
  aws_secret_access_key?: string | null;
  /** Only with short-lived credentials of a catalog; no config has one. */
  aws_session_token?: string | undefined;
  /** Only for a table of a catalog whose buckets accept nothing except files of Iceberg. */
  is_table_bucket?: boolean | undefined;
  aws_role_arn?: string | null;
  aws_external_id?: string | null;
  aws_roles?: AwsRoles | undefined;
  endpoint_url?: string | null;
  use_virtual_style_addressing?: boolean;
  encryption?: 'AES256' | 'aws:kms' | null;
  kms_key_id?: string | null;
};
