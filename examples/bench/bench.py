"""Sends events to a product, breaks it on request, and counts what arrives at its destination.

Python 3.9 and nothing else. Each event has an id. A batch is sent again with the same ids until
the product accepts it, as SDKs do. A command of yours prints the ids at the destination, so the
bench knows nothing about the product, and takes no word of it for granted.
"""

import argparse
import base64
import collections
import datetime
import json
import queue
import statistics
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid

PATHS = {
    "posthog": "/batch/",
    "segment": "/v1/batch",
    "snowplow": "/com.snowplowanalytics.snowplow/tp2",
}
PAYLOAD = "iglu:com.snowplowanalytics.snowplow/payload_data/jsonschema/1-0-4"


def body_of(speaks, key, ids):
    """Returns a batch of events with these ids as the product expects it."""
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
    properties = {"bench": True, "text": "x" * 100}
    if speaks == "posthog":
        events = [
            {"event": "bench", "distinct_id": "bench", "uuid": one, "timestamp": now,
             "properties": properties}
            for one in ids
        ]
        return {"api_key": key, "batch": events}
    if speaks == "segment":
        calls = [
            {"type": "track", "event": "bench", "userId": "bench", "messageId": one,
             "timestamp": now, "properties": properties}
            for one in ids
        ]
        return {"batch": calls, "sentAt": now}
    data = [
        {"e": "se", "se_ca": "bench", "se_ac": "bench", "eid": one, "p": "srv", "tv": "bench-1",
         "aid": key, "uid": "bench", "dtm": str(int(time.time() * 1000))}
        for one in ids
    ]
    return {"schema": PAYLOAD, "data": data}


def request_of(options, ids):
    data = json.dumps(body_of(options.speaks, options.key, ids)).encode()
    headers = {"content-type": "application/json"}
    if options.speaks == "segment":
        headers["authorization"] = "Basic " + base64.b64encode(f"{options.key}:".encode()).decode()
    path = PATHS[options.speaks] if options.path is None else options.path
    return urllib.request.Request(options.url.rstrip("/") + path, data=data, headers=headers)


def send(options, batches, told):
    """Sends batches until none is left, each until the product accepts it."""
    while True:
        try:
            ids = batches.get_nowait()
        except queue.Empty:
            return
        pause = 0.1
        while True:
            began = time.monotonic()
            try:
                with urllib.request.urlopen(request_of(options, ids), timeout=30) as answer:
                    answer.read()
                told["answers"].append(time.monotonic() - began)
                break
            except urllib.error.HTTPError as error:
                if 400 <= error.code < 500 and error.code not in (408, 429):
                    told["refusal"] = f"{error.code}: {error.read(500).decode(errors='replace')}"
                    return
                told["again"] += 1
            except (OSError, ValueError):
                told["again"] += 1
            time.sleep(pause)
            pause = min(5, 2 * pause)


def ids_at(command):
    """Returns how often each id is at the destination, as the command prints them."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"The command of --ids failed: {done.stderr.strip()[:500]}", file=sys.stderr)
    return collections.Counter(line.strip().lower() for line in done.stdout.splitlines())


def wait_for(options, sent):
    """Counts until every event is there, or the time is over."""
    began = time.monotonic()
    while True:
        found = ids_at(options.ids)
        missing = [one for one in sent if one not in found]
        waited = time.monotonic() - began
        if not missing or waited > options.wait:
            return found, missing, waited
        print(f"{len(sent) - len(missing)} of {len(sent)} events are there", file=sys.stderr)
        time.sleep(2)


def percentile(values, share):
    return 1000 * sorted(values)[min(len(values) - 1, int(share * len(values)))]


def main():
    parse = argparse.ArgumentParser(description=__doc__)
    parse.add_argument("--speaks", choices=PATHS, required=True)
    parse.add_argument("--path", help="another path of the same protocol")
    parse.add_argument("--url", required=True)
    parse.add_argument("--key", required=True)
    parse.add_argument("--ids", required=True, help="a command that prints the ids that arrived")
    parse.add_argument("--events", type=int, default=10_000)
    parse.add_argument("--batch", type=int, default=100)
    parse.add_argument("--senders", type=int, default=4)
    parse.add_argument("--break", dest="breaks", help="a command that runs when half are sent")
    parse.add_argument("--wait", type=float, default=600, help="seconds until events count as lost")
    options = parse.parse_args()

    sent = [str(uuid.uuid4()) for _ in range(options.events)]
    batches = queue.Queue()
    for start in range(0, len(sent), options.batch):
        batches.put(sent[start:start + options.batch])
    half = batches.qsize() // 2
    told = {"answers": [], "again": 0, "refusal": None}
    senders = [threading.Thread(target=send, args=(options, batches, told))
               for _ in range(options.senders)]
    began = time.monotonic()
    for sender in senders:
        sender.start()
    if options.breaks:
        while batches.qsize() > half and any(one.is_alive() for one in senders):
            time.sleep(0.01)
        subprocess.run(options.breaks, shell=True, check=False)
    for sender in senders:
        sender.join()
    if told["refusal"] is not None:
        sys.exit(f"The product refused the events. It answered {told['refusal']}")
    seconds = time.monotonic() - began
    answers = told["answers"]
    print(f"accepted   {len(sent)} events in {seconds:.1f} s, {len(sent) / seconds:.0f} a second")
    print(f"answers    p50 {1000 * statistics.median(answers):.0f} ms, "
          f"p99 {percentile(answers, 0.99):.0f} ms, {told['again']} requests sent again")
    found, missing, waited = wait_for(options, sent)
    known = set(sent)
    doubled = sum(count - 1 for one, count in found.items() if one in known and count > 1)
    print(f"delivered  {len(sent) - len(missing)} events, {waited:.1f} s after the last answer")
    print(f"lost       {len(missing)}")
    print(f"doubled    {doubled}")
    sys.exit(1 if missing or doubled else 0)


main()
