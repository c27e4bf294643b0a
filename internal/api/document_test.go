package api_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
)

// requests are the types of requests, by the names of their schemas.
var requests = map[string]any{
	"InvoiceRequest": api.InvoiceRequest{}, "RequoteRequest": api.RequoteRequest{}, "NewPaymentRequest": api.NewPaymentRequest{}, "RefundRequest": api.RefundRequest{},
	"SimulateRequest": api.SimulateRequest{}, "EndpointRequest": api.EndpointRequest{}, "EndpointChange": api.EndpointChange{}, "RotateRequest": api.RotateRequest{},
	"ResendRequest": api.ResendRequest{}, "LinkRequest": api.LinkRequest{}, "LinkChange": api.LinkChange{},
	"TerminalRequest": api.TerminalRequest{},
	"ProductRequest":  api.ProductRequest{}, "ProductChange": api.ProductChange{}, "ProductsRequest": api.ProductsRequest{},
	"ProductOrder": api.ProductOrder{}, "OfferRequest": api.CheckoutRequest{}, "LookRequest": api.ThemeRequest{},
	"NewRefund": api.NewRefund{}, "RefundTransaction": api.RefundTransaction{}, "RefundDecision": api.RefundDecision{}, "SeenVersion": api.SeenVersion{},
}

// answers are the types of answers and events, by the names of their schemas.
var answers = map[string]any{
	"Error": api.Error{}, "Invoice": api.Invoice{}, "Address": api.Address{},
	"InvoiceList": api.InvoiceList{}, "SummaryList": api.SummaryList{}, "Summary": api.Summary{}, "ReceivedAmount": api.ReceivedAmount{}, "Origin": api.Origin{},
	"Resource": api.Resource{}, "Acceptance": api.Acceptance{}, "Refund": api.Refund{}, "RefundList": api.RefundList{}, "KeptSurplus": api.KeptSurplus{}, "PaymentMethod": api.PaymentMethod{},
	"Payment": api.Payment{}, "Quote": api.Quote{}, "QuotedPrice": api.QuotedPrice{}, "Conversion": api.Sale{},
	"EventPage": api.EventPage{}, "Event": api.Event{}, "WalletChange": api.WalletChange{}, "AccountChange": api.AccountChange{},
	"EndpointList": api.EndpointList{}, "Endpoint": api.Endpoint{}, "TestSent": api.TestSent{}, "Resent": api.Resent{},
	"DeliveryPage": api.DeliveryPage{}, "Delivery": api.Delivery{}, "DeliveryLog": api.DeliveryLog{}, "Try": api.Attempt{},
	"LinkList": api.LinkList{}, "Link": api.Link{}, "ProductList": api.ProductList{}, "Product": api.Product{},
	"TerminalList": api.TerminalList{}, "Terminal": api.Terminal{}, "NewTerminal": api.NewTerminal{},
	"ProductOffers": api.ProductOffers{}, "ProductOffer": api.ProductOffer{},
	"Look": api.Theme{}, "LookColors": api.ThemeColors{}, "Offer": api.CheckoutLink{}, "OfferMade": api.CheckoutInvoice{},
}

// untestedSchemas are the schemas whose types are not in this package: EventPayment is a Payment without
// the fields that only a Resource has, and the others are answers of /readyz.
var untestedSchemas = []string{"EventPayment", "Readiness", "NetworkHealth"}

func schemas(t *testing.T) openapi3.Schemas {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromData(api.Document)
	if err != nil {
		t.Fatal(err)
	}
	return document.Components.Schemas
}

// property is a field as its type and its schema state it.
type property struct {
	Type     string
	Required bool
	Bounds   []int64 // of its length or its value
}

// A field is in a type if and only if it is in the schema, with the same type and bounds.
func TestDocument_has_the_fields_of_the_types(t *testing.T) {
	t.Parallel()
	all := schemas(t)
	for name, fields := range fieldsOfTypes() {
		if all[name] == nil {
			t.Errorf("no schema %s", name)
			continue
		}
		if diff := cmp.Diff(fields, documentedFields(all[name].Value, fields)); diff != "" {
			t.Errorf("%s (-type +document):\n%s", name, diff)
		}
	}
	for name, schema := range all {
		if len(schema.Value.Properties) > 0 && requests[name] == nil && answers[name] == nil && !slices.Contains(untestedSchemas, name) {
			t.Errorf("no type for the schema %s", name)
		}
	}
}

// fieldsOfTypes returns the fields of all types, by the names of their schemas.
func fieldsOfTypes() map[string]map[string]property {
	byType := map[string]map[string]property{}
	for name, request := range requests {
		byType[name] = map[string]property{}
		requestType := reflect.TypeOf(request)
		for _, f := range api.FieldsOf(requestType) {
			p := property{Type: jsonType(requestType.FieldByIndex(f.Index).Type), Required: f.Required, Bounds: f.Rule.Bounds}
			if f.Rule.Name == "amount" || f.Rule.Name == "percent" {
				p.Type = "number or string"
			}
			byType[name][f.Name] = p
		}
	}
	for name, answer := range answers {
		byType[name] = map[string]property{}
		for _, f := range reflect.VisibleFields(reflect.TypeOf(answer)) {
			if !f.Anonymous {
				field, option, _ := strings.Cut(f.Tag.Get("json"), ",")
				byType[name][field] = property{Type: jsonType(f.Type), Required: option == ""}
			}
		}
	}
	return byType
}

// documentedFields returns the fields of a schema. A field has the bounds of the schema if its rule in Go has
// bounds. If the schema lists the values of a field, the field has the bounds in Go.
func documentedFields(schema *openapi3.Schema, inGo map[string]property) map[string]property {
	properties := map[string]property{}
	for name, ref := range schema.Properties {
		s := ref.Value
		p := property{Type: strings.Join(types(s), " or "), Required: slices.Contains(schema.Required, name)}
		switch {
		case s.Enum != nil:
			p.Bounds = inGo[name].Bounds
		case inGo[name].Bounds != nil:
			for _, bound := range []*float64{s.Min, s.Max} {
				if bound != nil {
					p.Bounds = append(p.Bounds, int64(*bound))
				}
			}
			if s.MaxLength != nil {
				p.Bounds = append(p.Bounds, int64(*s.MaxLength))
			}
		}
		properties[name] = p
	}
	return properties
}

// types returns the types that a schema allows besides null.
func types(s *openapi3.Schema) (names []string) {
	for _, name := range s.Type.Slice() {
		if name != "null" {
			names = append(names, name)
		}
	}
	if s.Type == nil {
		for _, option := range s.OneOf {
			names = append(names, types(option.Value)...)
		}
	}
	return names
}

// jsonType returns the type of a Go type in JSON.
func jsonType(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[json.Number]():
		return "number"
	case t == reflect.TypeFor[json.RawMessage]():
		return "object"
	case t == reflect.TypeFor[[]byte]():
		return "string"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return jsonType(t.Elem())
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Slice:
		return "array"
	case reflect.Struct, reflect.Map:
		return "object"
	}
	return "integer"
}

// Every struct with fields in JSON is among requests or answers.
func TestDocument_has_every_type(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, list := range []map[string]any{requests, answers} {
		for _, v := range list {
			known[reflect.TypeOf(v).Name()] = true
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			list, ok := spec.Type.(*ast.StructType)
			if ok && slices.ContainsFunc(list.Fields.List, func(f *ast.Field) bool { return f.Tag != nil }) && !known[spec.Name.Name] {
				t.Errorf("%s has no schema in requests or answers", spec.Name.Name)
			}
			return true
		})
	}
}
