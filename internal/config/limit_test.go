package config_test

import (
	"fmt"
	"strings"
	"testing"

	"chequer/internal/config"
)

func TestLoad_checks_limits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]config.Limit{"": 20, "off": 0, "1": 1, "20": 20, "9999999": 9_999_999} {
		c, err := config.Load([]string{"CHEQUER_RATE_LIMIT=" + text})
		if err != nil || c.RateLimit != want {
			t.Errorf("%q: got %v, error %v, want %v", text, c.RateLimit, err, want)
		}
	}
	for _, text := range []string{"0", "07", "-1", "+5", "1e3", "many", "10000000", "99999999999999999999"} {
		for _, name := range []string{"CHEQUER_RATE_LIMIT", "CHEQUER_MAX_UNPAID"} {
			if _, err := config.Load([]string{name + "=" + text}); err == nil || !strings.HasPrefix(err.Error(), name+": ") {
				t.Errorf("%s=%s: got error %v, want one that names the setting", name, text, err)
			}
		}
	}
}

func TestLoad_checks_the_days_of_personal_data(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]config.Days{"": 180, "off": 0, "31": 31, "36500": 36500} {
		c, err := config.Load([]string{"CHEQUER_PERSONAL_DATA_DAYS=" + text})
		if err != nil || c.PersonalData != want {
			t.Errorf("%q: got %v, error %v, want %v", text, c.PersonalData, err, want)
		}
	}
	for _, text := range []string{"0", "-1", "30", "36501", "00180", "180.5", "OFF", "6 months"} {
		_, err := config.Load([]string{"CHEQUER_PERSONAL_DATA_DAYS=" + text})
		if want := fmt.Sprintf("CHEQUER_PERSONAL_DATA_DAYS: %q is neither off nor a number of days from 31 to 36500", text); err == nil || err.Error() != want {
			t.Errorf("%q: got error %v, want %s", text, err, want)
		}
	}
}
