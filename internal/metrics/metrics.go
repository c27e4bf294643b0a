// Package metrics serves metrics for Prometheus, and profiles.
package metrics

import (
	"context"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum/quorum"
	"chequer/internal/invoice"
)

// Storage reads values that other processes may change.
type Storage interface {
	Progress(ctx context.Context) (map[chain.ID]invoice.Progress, error)
	SaleCounts(ctx context.Context) (map[invoice.SaleState]int, error)
}

// Config holds the dependencies of Metrics.
type Config struct {
	Storage Storage
	// Networks returns the networks of live invoices; nil if there are none.
	Networks func() []chain.Network
	// Reached reports whether the methods of a network are offered.
	Reached func(network chain.ID, progress map[chain.ID]invoice.Progress) bool
	Now     func() time.Time
}

// Metrics collects the metrics of networks for Prometheus. Values that other processes may change
// are read from storage at each collection. The other values are about this process. It is safe for
// concurrent use.
type Metrics struct {
	Config
	registry *prometheus.Registry

	scanSeconds *prometheus.HistogramVec
	transfers   *prometheus.CounterVec

	mu    sync.Mutex
	shown map[chain.ID]map[string]bool // IDs of the transfers in the newest scan
	tips  map[chain.ID]time.Time       // block time of the newest scanned block
}

// reporter is a network that is watched through several endpoints.
type reporter interface{ Reports() []quorum.Report }

var (
	tipHeight = prometheus.NewDesc("chequer_network_tip_height", "Height of the newest block that was scanned.", []string{"network"}, nil)
	scanAge   = prometheus.NewDesc("chequer_network_scan_age_seconds", "Seconds since the start of the last scan that reached the tip.", []string{"network"}, nil)
	reached   = prometheus.NewDesc("chequer_network_reached", "1 while the network was scanned recently enough for its methods to be offered, else 0.", []string{"network"}, nil)
	height    = prometheus.NewDesc("chequer_source_height", "Height of the newest block that this process's source has.", []string{"network"}, nil)
	peers     = prometheus.NewDesc("chequer_source_peers", "Peers that this process's light client is connected to.", []string{"network"}, nil)
	healthy   = prometheus.NewDesc("chequer_source_up", "1 while this process's source is healthy, else 0.", []string{"network"}, nil)

	conversionCount = prometheus.NewDesc("chequer_conversions", "Sales for euro, by state: failed sales wait for a decision of the operator.", []string{"state"}, nil)

	endpointUp      = prometheus.NewDesc("chequer_endpoint_up", "1 while an endpoint is healthy, else 0.", []string{"network", "endpoint"}, nil)
	endpointHeight  = prometheus.NewDesc("chequer_endpoint_height", "Height of the newest block that an endpoint reported.", []string{"network", "endpoint"}, nil)
	endpointLatency = prometheus.NewDesc("chequer_endpoint_latency_seconds", "Duration of an endpoint's last request, in seconds.", []string{"network", "endpoint"}, nil)
	endpointAge     = prometheus.NewDesc("chequer_endpoint_answer_age_seconds", "Seconds since an endpoint's last valid answer.", []string{"network", "endpoint"}, nil)
	endpointFaults  = prometheus.NewDesc("chequer_endpoint_faults_total", "Number of faults of an endpoint.", []string{"network", "endpoint"}, nil)
)

// New returns a new Metrics.
func New(c Config) *Metrics {
	m := &Metrics{
		Config: c, registry: prometheus.NewRegistry(), shown: map[chain.ID]map[string]bool{}, tips: map[chain.ID]time.Time{},
		scanSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "chequer_scan_seconds", Help: "Duration of this process's scans in seconds, including the recording of transfers.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 9),
		}, []string{"network"}),
		transfers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "chequer_transfers_total", Help: "Transfers to the merchant's destinations that this process's scans found for the first time.",
		}, []string{"network"}),
	}
	m.registry.MustRegister(m, m.scanSeconds, m.transfers,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// ScanRecorder returns a function that records a scan. The transfers of the first scan are not counted as new.
func (m *Metrics) ScanRecorder(network chain.ID) func(chain.Snapshot, time.Duration) {
	return func(s chain.Snapshot, elapsed time.Duration) {
		m.scanSeconds.WithLabelValues(string(network)).Observe(elapsed.Seconds())
		now := make(map[string]bool, len(s.Transfers))
		newTransfers := 0
		m.mu.Lock()
		before := m.shown[network]
		for _, t := range s.Transfers {
			now[t.ID] = true
			if before != nil && !before[t.ID] {
				newTransfers++
			}
		}
		m.shown[network] = now
		m.tips[network] = s.Tip.Time
		m.mu.Unlock()
		m.transfers.WithLabelValues(string(network)).Add(float64(newTransfers))
	}
}

// TipTime returns the block time of the newest block that this process has scanned on a network, or
// nil if there is none.
func (m *Metrics) TipTime(network chain.ID) *time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.tips[network]; !t.IsZero() {
		return &t
	}
	return nil
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		tipHeight, scanAge, reached, height, peers, healthy,
		endpointUp, endpointHeight, endpointLatency, endpointAge, endpointFaults, conversionCount,
	} {
		ch <- d
	}
}

// collectTimeout limits the time to read storage in a collection.
const collectTimeout = 2 * time.Second

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, network chain.ID) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, string(network))
	}
	var networks []chain.Network
	if m.Networks != nil {
		networks = m.Networks()
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	if progress, err := m.Storage.Progress(ctx); err == nil {
		for network, p := range progress {
			gauge(tipHeight, float64(p.Tip.Height), network)
			gauge(scanAge, m.Now().Sub(p.Scanned).Seconds(), network)
		}
		for _, n := range networks {
			if _, watched := n.(chain.Scanner); watched {
				value := 0.0
				if m.Reached(n.ID(), progress) {
					value = 1
				}
				gauge(reached, value, n.ID())
			}
		}
	}
	if counts, err := m.Storage.SaleCounts(ctx); err == nil {
		for _, state := range invoice.SaleStates {
			ch <- prometheus.MustNewConstMetric(conversionCount, prometheus.GaugeValue, float64(counts[state]), string(state))
		}
	}
	for _, n := range networks {
		r, ok := n.(chain.Reporter)
		if !ok {
			continue
		}
		h := r.Health()
		up := 1.0
		if h.Fault != "" || h.Progress != "" {
			up = 0
		}
		gauge(height, float64(h.Height), n.ID())
		gauge(peers, float64(h.Peers), n.ID())
		gauge(healthy, up, n.ID())
		if e, ok := n.(reporter); ok {
			m.collectEndpoints(ch, n.ID(), e)
		}
	}
}

// collectEndpoints reports the state of the endpoints of a network.
func (m *Metrics) collectEndpoints(ch chan<- prometheus.Metric, network chain.ID, e reporter) {
	for _, r := range e.Reports() {
		report := func(d *prometheus.Desc, t prometheus.ValueType, value float64) {
			ch <- prometheus.MustNewConstMetric(d, t, value, string(network), r.Name)
		}
		up := 1.0
		if r.Fault != "" || r.Answered.IsZero() {
			up = 0
		}
		report(endpointUp, prometheus.GaugeValue, up)
		report(endpointHeight, prometheus.GaugeValue, float64(r.Height))
		report(endpointFaults, prometheus.CounterValue, float64(r.Faults))
		if !r.Answered.IsZero() {
			report(endpointLatency, prometheus.GaugeValue, r.Latency.Seconds())
			report(endpointAge, prometheus.GaugeValue, m.Now().Sub(r.Answered).Seconds())
		}
	}
}

// Serve returns a function that serves metrics and profiles on a separate listener until its context ends.
func (m *Metrics) Serve(l net.Listener) func(context.Context) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Timeout: 2 * collectTimeout}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	return func(ctx context.Context) error {
		stop := context.AfterFunc(ctx, func() { server.Close() })
		defer stop()
		if err := server.Serve(l); ctx.Err() == nil {
			return err
		}
		return nil
	}
}
