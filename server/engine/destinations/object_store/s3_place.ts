import type { AwsRoles } from '../../model/destination/aws_roles.ts';

/**
 * A bucket, the keys to it and how it is addressed. Without an access key the client takes the
 * credentials of the server's surroundings: who allows that is the caller's matter. Those assume
 * the role, where there is one.
 */
export type S3Place = {
  bucket_name: string;
  region: string;
  aws_access_key_id?: string | null;
  aws_secret_access_key?: string | null;
  /** Beside keys of short life, which a catalog hands out; no config has one. */
  aws_session_token?: string | undefined;
  aws_role_arn?: string | null;
  aws_external_id?: string | null;
  aws_roles?: AwsRoles | undefined;
  endpoint_url?: string | null;
  use_virtual_style_addressing?: boolean;
  encryption?: 'AES256' | 'aws:kms' | null;
  kms_key_id?: string | null;
};
