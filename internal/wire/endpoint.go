package wire

import (
	"chequer/internal/api"
	"chequer/internal/merchant"
)

// Endpoint returns the API's view of an endpoint, without its secrets.
func Endpoint(e merchant.Endpoint) api.Endpoint {
	return api.Endpoint{
		ID: e.ID, Mode: string(e.Mode), URL: e.URL, Events: append([]string{}, e.Events...), Paused: e.Paused, CreatedAt: Time(e.CreatedAt),
		Key: e.Key, NextKey: e.NextKey,
	}
}

// Delivery returns the API's view of a delivery.
func Delivery(d merchant.Delivery) api.Delivery {
	return api.Delivery{
		Position: d.Position, EventID: d.EventID, EventType: d.EventType, ForeignID: d.InvoiceID, State: string(d.State),
		Tries: d.Tries, CreatedAt: Time(d.CreatedAt), NextTryAt: Time(d.NextTryAt), Status: d.LastStatus, Fault: d.LastFault,
	}
}

// DeliveryLog returns the API's view of a delivery with its attempts. It lacks the bodies of the
// responses.
func DeliveryLog(d merchant.Delivery, tries []merchant.Try) api.DeliveryLog {
	answer := api.DeliveryLog{Delivery: Delivery(d), Log: []api.Try{}}
	for _, t := range tries {
		answer.Log = append(answer.Log, api.Try{
			Number: t.Number, At: Time(t.At), DurationMS: t.Duration.Milliseconds(), Status: t.Status, Fault: t.Fault,
			Headers: t.Header,
		})
	}
	return answer
}
