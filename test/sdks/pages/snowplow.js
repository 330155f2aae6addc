import {
  newTracker,
  setUserId,
  trackPageView,
  trackSelfDescribingEvent,
} from '@snowplow/browser-tracker';

globalThis.send = (host, key) => {
  newTracker('sp', host, { appId: key });
  trackPageView();
  setUserId('ada');
  const schema = (name) => `iglu:com.acme/${name}/jsonschema/1-0-0`;
  trackSelfDescribingEvent({ event: { schema: schema('bought'), data: { sent: 'Zürich 😀' } } });
  trackSelfDescribingEvent({ event: { schema: schema('left'), data: { sent: 2 } } });
};
