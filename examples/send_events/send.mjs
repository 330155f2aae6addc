import { PostHog } from 'posthog-node';

// The write key is public: it can only send events to one project.
const client = new PostHog(process.env.WRITE_KEY, { host: process.env.SLUICE_URL });

client.capture({
  distinctId: 'ada',
  event: 'signed up',
  properties: { plan: 'pro', $set: { email: 'ada@example.com' } },
});

// Sends what is still queued and waits for the answers.
await client.shutdown();
