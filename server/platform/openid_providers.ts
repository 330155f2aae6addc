/** The OpenID and OAuth providers that people can sign in with, by their names in the API. */
export const openid_providers = ['google-oauth2', 'github', 'gitlab', 'openid'] as const;
export type OpenidProvider = (typeof openid_providers)[number];

/** The operator's registration of the server with each provider. */
export type OpenidSettings = {
  google_client_id: string | undefined;
  google_client_secret: string | undefined;
  github_client_id: string | undefined;
  github_client_secret: string | undefined;
  gitlab_client_id: string | undefined;
  gitlab_client_secret: string | undefined;
  openid_issuer: string | undefined;
  openid_client_id: string | undefined;
  openid_client_secret: string | undefined;
};

/**
 * Returns the providers whose settings are complete, in the order of the list. Only this function
 * decides whether a provider can be used.
 */
export function configuredProviders(settings: OpenidSettings): OpenidProvider[] {
  const credentials: Record<OpenidProvider, (string | undefined)[]> = {
    'google-oauth2': [settings.google_client_id, settings.google_client_secret],
    github: [settings.github_client_id, settings.github_client_secret],
    gitlab: [settings.gitlab_client_id, settings.gitlab_client_secret],
    openid: [settings.openid_issuer, settings.openid_client_id, settings.openid_client_secret],
  };
  return openid_providers.filter((provider) =>
    credentials[provider].every((value) => value !== undefined),
  );
}
