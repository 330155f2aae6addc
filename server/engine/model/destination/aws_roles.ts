/**
 * Rules for assuming AWS roles. `principal` is the ARN that trust policies name (undefined: the
 * server assumes no role). The token service is AWS's own for the region if undefined.
 */
export type AwsRoles = { principal: string | undefined; sts_endpoint_url: string | undefined };
