# Sends with an unchanged client of Python: python send.py <client> <address> <key> <what>. Sends
# all kinds of events, or one when <what> is `one`, waits until each is delivered or given up, and
# prints what the program was told. Started by `npm run sdks -- languages`.
import datetime
import importlib
import json
import sys
import time

name, address, key, what = sys.argv[1:5]
told = []
properties = {
    'sent': 'Zürich 😀 "quoted"',
    'count': 9007199254740993,
    'price': 1.5,
    'list': [1, 'a'],
    'nothing': None,
    'flag': True,
}
when = datetime.datetime(2026, 11, 1, 10, 20, 30, 123000, tzinfo=datetime.timezone.utc)


def tell(error, _events):
    told.append(str(error))


def posthog():
    from posthog import Posthog

    client = Posthog(key, host=address, on_error=tell, flush_interval=0.1)
    client.capture('bought', distinct_id='ada', properties=properties, timestamp=when)
    if what != 'one':
        client.set(distinct_id='ada', properties={'plan': 'pro'})
        client.set_once(distinct_id='ada', properties={'first': 'x'})
        client.alias('visitor', 'ada')
        client.group_identify('company', 'acme', {'size': 3})
        client.capture_exception(ValueError('broken'), distinct_id='ada')
    client.shutdown()


def segment(module):
    client = module.Client(key, host=address, on_error=tell, upload_interval=0.1)
    client.track('ada', 'bought', properties, timestamp=when)
    if what != 'one':
        client.identify('ada', {'name': 'Ada'}, anonymous_id='visitor')
        client.page('ada', 'shop', 'Home', {'url': 'https://shop.example/'})
        client.screen('ada', 'shop', 'Cart', {'n': 1})
        client.group('ada', 'acme', {'size': 3})
        client.alias('earlier', 'ada')
    client.flush()
    client.join()


def snowplow():
    from snowplow_tracker import (
        Emitter,
        PagePing,
        PageView,
        ScreenView,
        SelfDescribing,
        SelfDescribingJson,
        StructuredEvent,
        Subject,
        Tracker,
    )

    emitter = Emitter(
        address,
        batch_size=100,
        on_failure=lambda _sent, unsent: told.append(f'{len(unsent)} not sent'),
        # Without this it repeats for ever what is too large.
        custom_retry_codes={413: False},
    )
    tracker = Tracker('campaign', emitter, subject=Subject().set_user_id('ada'), app_id=key)
    bought = SelfDescribingJson('iglu:com.acme/bought/jsonschema/1-0-0', properties)
    tracker.track(SelfDescribing(bought, true_timestamp=when.timestamp() * 1000))
    if what != 'one':
        page = 'https://shop.example/'
        tracker.track(PageView(page, page_title='Home', referrer='https://found.example/'))
        tracker.track(PagePing(page, page_title='Home', max_y=300))
        tracker.track(StructuredEvent('shop', 'add', label='tea', property_='green', value=2.5))
        tracker.track(ScreenView(id_='s1', name='Cart'))
    tracker.flush()
    while True:
        with emitter.lock:
            if emitter.event_store.size() == 0:
                return
        time.sleep(0.05)


if name == 'posthog':
    posthog()
elif name == 'snowplow-tracker':
    snowplow()
else:
    module = 'segment' if name == 'segment-analytics-python' else 'rudderstack'
    segment(importlib.import_module(f'{module}.analytics.client'))
print(json.dumps(told))
