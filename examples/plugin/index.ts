type Event = { event: string; distinct_id: string; properties: Record<string, unknown> };
type Meta = { config: { address: string; token: string } };

/** Thrown, it lets the server try the same event again later; the sandbox brings it. */
declare const RetryError: ErrorConstructor;

export async function onEvent(event: Event, { config }: Meta): Promise<void> {
  const response = await fetch(config.address, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${config.token}` },
    body: JSON.stringify(event),
  });
  if (response.status >= 500) throw new RetryError(`The address answered ${response.status}.`);
  if (!response.ok) throw new Error(`The address refused the event: ${response.status}.`);
}
