# Sends with unchanged clients of Python under a revoked key, and prints what each program was told:
# python refused.py <address> <key>. Started by `npm run sdks -- languages`.
import json
import sys

import rudderstack.analytics.client as rudderstack
import segment.analytics.client as segment

address, key = sys.argv[1:3]
for name, module, options in (
    ('segment-analytics-python', segment, {'host': address}),
    ('rudder-sdk-python', rudderstack, {'host': address}),
):
    told = []
    client = module.Client(
        key, on_error=lambda error, _items: told.append(str(error)), upload_interval=0.1, **options
    )
    client.track('ada', 'bought', {'n': 1})
    client.flush()
    client.join()
    print(json.dumps({'client': name, 'told': told}))
