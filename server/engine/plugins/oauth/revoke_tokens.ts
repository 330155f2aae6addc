import type { OauthApplication } from './application.ts';
import { OauthFault, revokeToken } from './client.ts';
import type { Connection } from './connection.ts';

/** Revokes tokens at the vendor, and returns why it failed; null: it succeeded. */
export async function revokeTokens(
  parts: Parameters<typeof revokeToken>[0],
  connection: Connection,
  application: OauthApplication | undefined,
): Promise<string | null> {
  const isTheirs =
    application?.id === connection.application_id &&
    application.version === connection.application_version;
  if (!isTheirs) return 'The OAuth application has changed: revoke the tokens at the vendor.';
  if (application.revoke_url === null)
    return 'The application has no revocation address: revoke the tokens at the vendor.';
  const { access_token, refresh_token } = connection.tokens;
  try {
    // Not every vendor revokes the access token with the refresh token.
    if (refresh_token !== null)
      await revokeToken(parts, application, refresh_token, 'refresh_token');
    await revokeToken(parts, application, access_token, 'access_token');
    return null;
  } catch (error) {
    if (error instanceof OauthFault) return error.message;
    throw error;
  }
}
