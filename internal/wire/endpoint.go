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
		Attempts: d.Attempts, CreatedAt: Time(d.CreatedAt), NextAttemptAt: Time(d.NotBefore()), Status: d.LastStatus, Fault: d.LastFault,
	}
}

// DeliveryLog returns the API's view of a delivery with its attempts, without the bodies of the
// responses.
func DeliveryLog(d merchant.Delivery, attempts []merchant.Attempt) api.DeliveryLog {
	answer := api.DeliveryLog{Delivery: Delivery(d), Log: []api.Attempt{}}
	for _, a := range attempts {
		answer.Log = append(answer.Log, api.Attempt{
			Number: a.Number, At: Time(a.At), DurationMS: a.Duration.Milliseconds(), Status: a.Status, Fault: a.Fault,
			Headers: a.Header,
		})
	}
	return answer
}
