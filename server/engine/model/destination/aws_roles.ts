/**
 * How roles of AWS are assumed: by which ARN trust policies name the server's own identity
 * (undefined: it assumes none), and the token service (undefined: that of AWS in the region).
 */
export type AwsRoles = { principal: string | undefined; sts_endpoint_url: string | undefined };
