// Sends with an unchanged client of Go: send <client> <address> <key> <what>. Sends all kinds of
// events, or one when <what> is `one`, waits until each is delivered or given up, and prints what
// the program was told. Started by `npm run sdks -- languages`.
package main

import (
	"encoding/json"
	"io"
	"log"
	"os"
	"sync"
	"time"

	"github.com/posthog/posthog-go"
	"gopkg.in/segmentio/analytics-go.v3"
)

var properties = map[string]interface{}{
	"sent":    "Zürich 😀 \"quoted\"",
	"count":   9007199254740993,
	"price":   1.5,
	"list":    []interface{}{1, "a"},
	"nothing": nil,
	"flag":    true,
}

var when = time.Date(2026, 11, 1, 10, 20, 30, 123000000, time.UTC)

// The outcome of every message, and what the program was told of those that failed.
type outcomes struct {
	waiting sync.WaitGroup
	lock    sync.Mutex
	told    []string
}

func (o *outcomes) Success() { o.waiting.Done() }

func (o *outcomes) Failure(err error) {
	o.lock.Lock()
	o.told = append(o.told, err.Error())
	o.lock.Unlock()
	o.waiting.Done()
}

type ofPostHog struct{ *outcomes }

func (o ofPostHog) Success(posthog.APIMessage)            { o.outcomes.Success() }
func (o ofPostHog) Failure(_ posthog.APIMessage, e error) { o.outcomes.Failure(e) }

type ofSegment struct{ *outcomes }

func (o ofSegment) Success(analytics.Message)            { o.outcomes.Success() }
func (o ofSegment) Failure(_ analytics.Message, e error) { o.outcomes.Failure(e) }

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func sendPostHog(address, key string, one bool, o *outcomes) io.Closer {
	client, err := posthog.NewWithConfig(key, posthog.Config{
		Endpoint: address, Interval: 100 * time.Millisecond, Callback: ofPostHog{o},
	})
	must(err)
	messages := []posthog.Message{
		posthog.Capture{DistinctId: "ada", Event: "bought", Properties: properties, Timestamp: when},
		posthog.Identify{DistinctId: "ada", Properties: posthog.NewProperties().Set("plan", "pro")},
		posthog.Alias{DistinctId: "ada", Alias: "visitor"},
		posthog.GroupIdentify{
			Type: "company", Key: "acme", Properties: posthog.NewProperties().Set("size", 3),
		},
	}
	if one {
		messages = messages[:1]
	}
	for _, message := range messages {
		o.waiting.Add(1)
		must(client.Enqueue(message))
	}
	return client
}

func sendSegment(address, key string, one bool, o *outcomes) io.Closer {
	client, err := analytics.NewWithConfig(key, analytics.Config{
		Endpoint: address, Interval: 100 * time.Millisecond, Callback: ofSegment{o},
	})
	must(err)
	page := analytics.NewProperties().SetURL("https://shop.example/").Set("category", "shop")
	screen := analytics.NewProperties().Set("category", "shop").Set("n", 1)
	messages := []analytics.Message{
		analytics.Track{UserId: "ada", Event: "bought", Properties: properties, Timestamp: when},
		analytics.Identify{
			UserId: "ada", AnonymousId: "visitor", Traits: analytics.NewTraits().SetName("Ada"),
		},
		analytics.Page{UserId: "ada", Name: "Home", Properties: page},
		analytics.Screen{UserId: "ada", Name: "Cart", Properties: screen},
		analytics.Group{UserId: "ada", GroupId: "acme", Traits: analytics.NewTraits().Set("size", 3)},
		analytics.Alias{UserId: "ada", PreviousId: "earlier"},
	}
	if one {
		messages = messages[:1]
	}
	for _, message := range messages {
		o.waiting.Add(1)
		must(client.Enqueue(message))
	}
	return client
}

func main() {
	name, address, key, one := os.Args[1], os.Args[2], os.Args[3], os.Args[4] == "one"
	o := &outcomes{told: []string{}}
	var client io.Closer
	if name == "posthog-go" {
		client = sendPostHog(address, key, one, o)
	} else {
		client = sendSegment(address, key, one, o)
	}
	// A client that is closed gives up what it would repeat.
	o.waiting.Wait()
	must(client.Close())
	must(json.NewEncoder(os.Stdout).Encode(o.told))
}
