import {
  newTracker,
  setUserId,
  trackPageView,
  trackSelfDescribingEvent,
} from '@snowplow/browser-tracker';

globalThis.load = (host, key) => void newTracker('sp', host, { appId: key });
globalThis.send = (host, key) => {
  globalThis.load(host, key);
  trackPageView();
  setUserId('ada');
  const schema = (name) => `iglu:com.acme/${name}/jsonschema/1-0-0`;
  trackSelfDescribingEvent({ event: { schema: schema('bought'), data: { sent: 'Zürich 😀' } } });
  trackSelfDescribingEvent({ event: { schema: schema('left'), data: { sent: 2 } } });
};
