// Reads a table of Sluice's catalog by iceberg-go. For each line on standard input, a JSON object
// with `metadata`, the table's metadata file, and `uri`, `token`, `warehouse` and `table` for the
// catalog, it prints a JSON object a line for each way: its name, version and rows, or the error.
// Instants are microseconds and whole numbers text, as JSON would round them.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

const module = "github.com/apache/iceberg-go"

type question struct {
	Metadata, Uri, Token, Warehouse, Table, Reader string
	Ways                                           map[string]string
	Create                                         bool
}

type reading struct {
	Reader  string           `json:"reader,omitempty"`
	Version string           `json:"version,omitempty"`
	Rows    []map[string]any `json:"rows,omitempty"`
	Error   string           `json:"error,omitempty"`
}

func main() {
	lines := bufio.NewReader(os.Stdin)
	printer := json.NewEncoder(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked question
		if err := json.Unmarshal(line, &asked); err != nil {
			panic(err)
		}
		for _, reader := range []string{"iceberg-go", "iceberg-go, catalog"} {
			if asked.Create || asked.Ways != nil || !strings.Contains(reader, asked.Reader) {
				continue
			}
			found := reading{Reader: reader, Version: version()}
			rows, err := rowsOf(context.Background(), reader, asked)
			if err != nil {
				found.Error = err.Error()
			}
			found.Rows = rows
			printer.Encode(found)
		}
		printer.Encode(reading{})
	}
}

func version() string {
	built, _ := debug.ReadBuildInfo()
	for _, used := range built.Deps {
		if used.Path == module {
			return used.Version
		}
	}
	return ""
}

func open(ctx context.Context, byCatalog bool, asked question) (*table.Table, error) {
	name := table.Identifier(strings.Split(asked.Table, "."))
	if !byCatalog {
		files := io.LoadFSFunc(nil, asked.Metadata)
		return table.NewFromLocation(ctx, name, asked.Metadata, files, nil)
	}
	sluice, err := rest.NewCatalog(ctx, "sluice", asked.Uri,
		rest.WithOAuthToken(asked.Token), rest.WithWarehouseLocation(asked.Warehouse))
	if err != nil {
		return nil, err
	}
	return sluice.LoadTable(ctx, name)
}

func rowsOf(ctx context.Context, reader string, asked question) ([]map[string]any, error) {
	opened, err := open(ctx, strings.HasSuffix(reader, "catalog"), asked)
	if err != nil {
		return nil, err
	}
	_, batches, err := opened.Scan().ToArrowRecords(ctx)
	if err != nil {
		return nil, err
	}
	rows := []map[string]any{}
	for batch, err := range batches {
		if err != nil {
			return nil, err
		}
		for at := range int(batch.NumRows()) {
			row := map[string]any{}
			for column, field := range batch.Schema().Fields() {
				value, err := valueOf(batch.Column(column), at)
				if err != nil {
					return nil, err
				}
				row[field.Name] = value
			}
			rows = append(rows, row)
		}
		batch.Release()
	}
	return rows, nil
}

func valueOf(column arrow.Array, at int) (any, error) {
	if column.IsNull(at) {
		return nil, nil
	}
	switch values := column.(type) {
	case *array.String:
		return values.Value(at), nil
	case *array.LargeString:
		return values.Value(at), nil
	case *array.Boolean:
		return values.Value(at), nil
	case *array.Int32:
		return strconv.FormatInt(int64(values.Value(at)), 10), nil
	case *array.Int64:
		return strconv.FormatInt(values.Value(at), 10), nil
	case *array.Float64:
		return floatOf(values.Value(at)), nil
	case *array.Float32:
		return floatOf(float64(values.Value(at))), nil
	case *array.Date32:
		return values.Value(at).FormattedString(), nil
	case *array.Decimal128:
		kind := values.DataType().(*arrow.Decimal128Type)
		return values.Value(at).ToString(kind.Scale), nil
	case *array.Timestamp:
		if unit := values.DataType().(*arrow.TimestampType).Unit; unit != arrow.Microsecond {
			return nil, fmt.Errorf("an instant in %s", unit)
		}
		return strconv.FormatInt(int64(values.Value(at)), 10), nil
	}
	return nil, fmt.Errorf("no value for %s", column.DataType())
}

// floatOf gives a number as it is, and what JSON has no number for as text.
func floatOf(value float64) any {
	if math.IsNaN(value) {
		return "nan"
	}
	if math.IsInf(value, 0) {
		return map[bool]string{true: "inf", false: "-inf"}[value > 0]
	}
	return value
}
