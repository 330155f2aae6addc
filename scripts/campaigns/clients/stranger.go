// Makes the calls of a plan with the client that oapi-codegen generated: finds the method of each
// operation by its name, gives it the path parameters in their order and the body in its own type,
// and compares what the client read with the text of the answer.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"strings"

	sluice "stranger/client"
)

type call struct {
	Id         string            `json:"id"`
	Path       string            `json:"path"`
	Parameters map[string]string `json:"parameters"`
	Body       json.RawMessage   `json:"body"`
	Status     int               `json:"status"`
}

type plan struct {
	Address string `json:"address"`
	Key     string `json:"key"`
	Calls   []call `json:"calls"`
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	exitOn(err)
	var wanted plan
	exitOn(json.Unmarshal(text, &wanted))
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+wanted.Key)
		return nil
	}
	client, err := sluice.NewClientWithResponses(
		wanted.Address, sluice.WithRequestEditorFn(authorize))
	exitOn(err)
	faults := 0
	for _, one := range wanted.Calls {
		if fault := make_(client, one); fault != "" {
			faults++
			fmt.Printf("%s: %s\n", one.Id, fault)
		}
	}
	fmt.Printf("Go: %d calls, %d faults\n", len(wanted.Calls), faults)
	if faults > 0 {
		os.Exit(1)
	}
}

func make_(client *sluice.ClientWithResponses, one call) string {
	method := reflect.ValueOf(client).MethodByName(camel(one.Id) + "WithResponse")
	if !method.IsValid() {
		return "the client has no such method"
	}
	arguments, err := argumentsOf(method.Type(), one)
	if err != nil {
		return err.Error()
	}
	results := method.Call(arguments)
	if fault, ok := results[1].Interface().(error); ok && fault != nil {
		return fault.Error()
	}
	answer := results[0].Elem()
	text := answer.FieldByName("Body").Bytes()
	status := answer.FieldByName("HTTPResponse").Interface().(*http.Response).StatusCode
	if status != one.Status {
		return fmt.Sprintf("answered %d: %s", status, text)
	}
	if len(text) == 0 {
		return ""
	}
	read := answer.FieldByName(fmt.Sprintf("JSON%d", status))
	if !read.IsValid() || read.IsNil() {
		return "the client did not read the answer"
	}
	return difference(read.Interface(), text)
}

func argumentsOf(method reflect.Type, one call) ([]reflect.Value, error) {
	names := []string{}
	for _, part := range strings.Split(one.Path, "/") {
		if strings.HasPrefix(part, "{") {
			names = append(names, strings.Trim(part, "{}"))
		}
	}
	arguments := []reflect.Value{reflect.ValueOf(context.Background())}
	for index := 1; index < method.NumIn(); index++ {
		kind := method.In(index)
		if method.IsVariadic() && index == method.NumIn()-1 {
			break
		}
		switch {
		case len(names) > 0:
			value := reflect.New(kind)
			text := one.Parameters[names[0]]
			if kind.Kind() == reflect.String {
				value.Elem().SetString(text)
			} else if err := json.Unmarshal([]byte(`"`+text+`"`), value.Interface()); err != nil {
				return nil, err
			}
			names = names[1:]
			arguments = append(arguments, value.Elem())
		case strings.HasSuffix(kind.String(), "Params"):
			arguments = append(arguments, reflect.Zero(kind))
		default:
			value := reflect.New(kind)
			if err := json.Unmarshal(one.Body, value.Interface()); err != nil {
				return nil, err
			}
			arguments = append(arguments, value.Elem())
		}
	}
	return arguments, nil
}

// Says what differs between what was read and the text, as JSON; instants may be spelled otherwise.
func difference(read any, text []byte) string {
	again, err := json.Marshal(read)
	if err != nil {
		return err.Error()
	}
	var one, other any
	if json.Unmarshal(again, &one) != nil || json.Unmarshal(text, &other) != nil {
		return "is no JSON"
	}
	if same(one, other) {
		return ""
	}
	return fmt.Sprintf("read %s and not %s", again, text)
}

func same(one, other any) bool {
	switch known := one.(type) {
	case map[string]any:
		wanted, ok := other.(map[string]any)
		if !ok {
			return false
		}
		for name, value := range wanted {
			if value != nil && !same(known[name], value) {
				return false
			}
		}
		return true
	case []any:
		wanted, ok := other.([]any)
		if !ok || len(wanted) != len(known) {
			return false
		}
		for index := range known {
			if !same(known[index], wanted[index]) {
				return false
			}
		}
		return true
	case string:
		wanted, ok := other.(string)
		return ok && (known == wanted || len(known) > 16 && len(wanted) > 16 && known[:16] == wanted[:16])
	}
	return one == other
}

// The name that oapi-codegen makes of an operation.
func camel(id string) string {
	name := ""
	for _, word := range strings.Split(id, "_") {
		name += strings.ToUpper(word[:1]) + word[1:]
	}
	return name
}

func exitOn(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
}
