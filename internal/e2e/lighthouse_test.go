package e2e_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"chequer/internal/api"
	"chequer/internal/programtest"
)

// verdict is Lighthouse's result for a page.
type verdict struct {
	Categories map[string]struct {
		Score float64 `json:"score"` // from 0 to 1
	} `json:"categories"`
	Audits map[string]struct {
		Title string   `json:"title"`
		Score *float64 `json:"score"`
		Value float64  `json:"numericValue"`
	} `json:"audits"`
	RuntimeError *struct {
		Message string `json:"message"`
	} `json:"runtimeError"`
}

// lighthouseRuns is the number of runs per page. It is odd, because the test uses the median.
const lighthouseRuns = 3

// TestLighthouse_scores_reach_their_minimum runs nightly. The limit for performance is low, because the score depends
// on the load of the machine. The category for search engines is not checked, because payment pages are excluded
// from search engines.
func TestLighthouse_scores_reach_their_minimum(t *testing.T) {
	if os.Getenv("E2E_NIGHTLY") == "" {
		t.Skip("runs nightly")
	}
	programtest.RequireProgram(t, "chromium")
	programtest.RequireProgram(t, "node")
	cli := filepath.Join(filepath.Dir(filepath.Dir(programtest.FetchedPath("lighthouse"))), "lighthouse", "node_modules", "lighthouse", "cli", "index.js")
	if _, err := os.Stat(cli); err != nil {
		programtest.SkipUnlessCI(t, "lighthouse is not installed (internal/e2e/fetch.sh nightly): %v", err)
	}
	site := newDemoSite(t)
	s := site.shop()
	waiting, paid := s.createInvoice(), s.createInvoice()
	s.simulate(paid, api.SimulateExact, api.SimulateConfirm)
	for name, path := range map[string]string{"storefront": "/", "waiting": "/invoice/" + waiting, "paid": "/invoice/" + paid} {
		t.Run(name, func(t *testing.T) {
			var verdicts []verdict
			for range lighthouseRuns {
				verdicts = append(verdicts, runLighthouse(t, cli, site.url+path))
			}
			median := func(value func(verdict) float64) float64 {
				var values []float64
				for _, v := range verdicts {
					values = append(values, value(v))
				}
				slices.Sort(values)
				return values[len(values)/2]
			}
			for category, minimum := range map[string]float64{"accessibility": 1, "best-practices": 1, "performance": .9} {
				got := median(func(v verdict) float64 { return v.Categories[category].Score })
				t.Logf("%s %.0f", category, 100*got)
				if got < minimum {
					t.Errorf("%s is %.0f, want at least %.0f: %q", category, 100*got, 100*minimum, verdicts[0].lowAudits())
				}
			}
			shift := median(func(v verdict) float64 { return v.Audits["cumulative-layout-shift"].Value })
			paint := median(func(v verdict) float64 { return v.Audits["largest-contentful-paint"].Value })
			t.Logf("layout shift %.3f, largest paint after %.1f s on a simulated slow phone network", shift, paint/1000)
			if shift != 0 {
				t.Errorf("the layout shift is %.3f, want 0", shift)
			}
		})
	}
}

// lowAudits returns the audits with a low score.
func (v verdict) lowAudits() (titles []string) {
	for id, audit := range v.Audits {
		if audit.Score != nil && *audit.Score < .9 {
			titles = append(titles, id+": "+audit.Title)
		}
	}
	slices.Sort(titles)
	return titles
}

// runLighthouse runs Lighthouse once.
func runLighthouse(t *testing.T, cli, url string) (result verdict) {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal(err)
	}
	for attempt := range 3 {
		c := exec.CommandContext(t.Context(), "node", cli, url, "--quiet", "--output=json", "--only-categories=accessibility,best-practices,performance",
			"--chrome-flags=--headless=new --no-sandbox", "--throttling.cpuSlowdownMultiplier=1", "--no-enable-error-reporting")
		c.Env = append(os.Environ(), "CHROME_PATH="+chromium)
		c.Dir = t.TempDir()
		var fault strings.Builder
		c.Stderr = &fault
		output, err := c.Output()
		retry := strings.Contains(fault.String(), "run Lighthouse again") // when it could not record the page
		if decoded := json.Unmarshal(output, &result); decoded != nil && !retry {
			t.Fatalf("lighthouse: %v: %v: %s", err, decoded, fault.String())
		}
		if result.RuntimeError == nil && len(result.Categories) == 3 {
			return result
		}
		t.Logf("attempt %d: lighthouse could not record the page: %+v %s", attempt, result.RuntimeError, fault.String())
		result = verdict{}
	}
	t.Fatal("lighthouse could not record the page")
	return result
}
