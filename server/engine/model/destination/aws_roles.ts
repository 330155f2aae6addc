/**
 * Rules for assuming roles of AWS: the ARN by which trust policies name the server's identity
 * (undefined: it assumes no role), and the token service (undefined: that of AWS in the region).
 */
export type AwsRoles = { principal: string | undefined; sts_endpoint_url: string | undefined };
