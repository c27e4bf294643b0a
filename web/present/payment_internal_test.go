package present

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/internal/locale"
)

// Every value of the frame and of the snapshot, except the remaining seconds, changes the key. A new field must be added
// to the key and here.
func TestPaymentKey_has_every_value(t *testing.T) {
	t.Parallel()
	german, ok := locale.All().Find("de")
	if !ok {
		t.Fatal("no German")
	}
	changes := map[string]func(*Frame, *client.Snapshot){
		"Frame.Reader.Language": func(f *Frame, _ *client.Snapshot) { f.Language = german },
		"Frame.Reader.Explicit": func(f *Frame, _ *client.Snapshot) { f.Explicit = true },
		"Frame.Theme":           func(f *Frame, _ *client.Snapshot) { f.Theme = Theme{path: "/look/x"} },
		"Frame.Multilingual":    func(f *Frame, _ *client.Snapshot) { f.Multilingual = true },
		"Frame.WithAmount":      func(f *Frame, _ *client.Snapshot) { f.WithAmount = true },
		"Frame.ShopOrigin":      func(f *Frame, _ *client.Snapshot) { f.ShopOrigin = "x" },
		"Frame.Modal":           func(f *Frame, _ *client.Snapshot) { f.Modal = true },
		"Frame.Query":           func(f *Frame, _ *client.Snapshot) { f.Query = "x" },
		"Frame.Now":             func(f *Frame, _ *client.Snapshot) { f.Now = f.Now.AddDate(0, 0, 1) },
		"Snapshot.ETag":         func(_ *Frame, s *client.Snapshot) { s.ETag = "x" },
		"Resource.SecondsLeft":  func(_ *Frame, s *client.Snapshot) { s.Resource.SecondsLeft = 0 },
	}
	// The theme and the merchant of the snapshot affect the page through the frame only.
	known := []string{"Frame.Site", "Snapshot.Resource", "Snapshot.Theme", "Snapshot.MerchantID"}
	for field := range reflect.TypeFor[Site]().Fields() {
		changes["Site."+field.Name] = func(f *Frame, _ *client.Snapshot) { setField(reflect.ValueOf(f.Site).Elem().FieldByIndex(field.Index)) }
	}
	for field := range reflect.TypeFor[api.Resource]().Fields() {
		if field.Name != "SecondsLeft" {
			changes["Resource."+field.Name] = func(_ *Frame, s *client.Snapshot) {
				setField(reflect.ValueOf(&s.Resource).Elem().FieldByIndex(field.Index))
			}
		}
	}
	for prefix, fields := range map[string][]reflect.StructField{
		"Frame.": slices.Collect(reflect.TypeFor[Frame]().Fields()), "Frame.Reader.": slices.Collect(reflect.TypeFor[Reader]().Fields()),
		"Snapshot.": slices.Collect(reflect.TypeFor[client.Snapshot]().Fields()),
	} {
		for _, field := range fields {
			name := prefix + field.Name
			if changes[name] == nil && !slices.Contains(known, name) && name != "Frame.Reader" {
				t.Errorf("no change of %s", name)
			}
		}
	}
	key := func(change func(*Frame, *client.Snapshot)) PageKey {
		f := Frame{Site: &Site{}, Reader: English(), Now: time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)}
		s := client.Snapshot{Resource: api.Resource{SecondsLeft: 872}}
		change(&f, &s)
		k, err := f.PaymentKey(s)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	same := key(func(*Frame, *client.Snapshot) {})
	for name, change := range changes {
		if key(change) == same {
			t.Errorf("%s does not change the key", name)
		}
	}
	if key(func(f *Frame, s *client.Snapshot) { f.Now = f.Now.Add(time.Hour); s.Resource.SecondsLeft = 1 }) != same {
		t.Error("the remaining seconds change the key")
	}
}

// setField sets a field to a value that is not zero.
func setField(field reflect.Value) {
	switch field.Kind() {
	case reflect.String:
		field.SetString("x")
	case reflect.Bool:
		field.SetBool(true)
	case reflect.Int, reflect.Int64:
		field.SetInt(1)
	case reflect.Slice:
		field.Set(reflect.MakeSlice(field.Type(), 1, 1))
	case reflect.Map:
		field.Set(reflect.MakeMap(field.Type()))
	case reflect.Struct:
		setField(field.Field(0))
	default:
		panic("a field of kind " + field.Kind().String())
	}
}
