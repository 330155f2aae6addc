import { jsonAnswer } from '../protocol.ts';
import type { Asked, Protocol } from '../protocol.ts';
import { decodeMessages, messageAlone } from '../segment/segment.ts';

/** The protocol of RudderStack's libraries beyond Segment's paths: a beacon, and their settings. */
export const rudderstack: Protocol = {
  name: 'rudderstack',
  match: [
    {
      paths: ['/beacon/v1/batch/'],
      summary: "Send a batch with a beacon of RudderStack's library",
      answers: ['text/plain'],
    },
  ],
  decode: decodeMessages,
  alone: messageAlone,
  answer: () => ({ type: 'text/plain; charset=utf-8', body: 'OK' }),
  settings: [
    {
      paths: ['/sourceConfig/'],
      summary: "Read the settings of RudderStack's library",
      key: true,
      answer: sourceConfig,
    },
  ],
};

function sourceConfig({ key }: Asked) {
  // Enabled, without a destination: the library sends only to this server.
  return jsonAnswer({
    source: {
      id: key,
      name: 'Sluice',
      writeKey: key,
      enabled: true,
      workspaceId: key,
      config: { statsCollection: { errors: { enabled: false }, metrics: { enabled: false } } },
      destinations: [],
      dataplanes: {},
    },
  });
}
