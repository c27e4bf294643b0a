package rates

import "time"

// isBankingDay reports whether a day is a business day of the TARGET calendar:
// https://www.ecb.europa.eu/ecb/contacts/working-hours/html/index.en.html
func isBankingDay(day time.Time) bool {
	if w := day.Weekday(); w == time.Saturday || w == time.Sunday {
		return false
	}
	switch month, date := day.Month(), day.Day(); {
	case month == time.January && date == 1, month == time.May && date == 1,
		month == time.December && (date == 25 || date == 26):
		return false
	}
	sinceEaster := day.YearDay() - easter(day.Year()).YearDay()
	return sinceEaster != -2 && sinceEaster != 1 // Good Friday, Easter Monday
}

// easter returns Easter Sunday of a year of the Gregorian calendar, by the anonymous Gregorian
// algorithm.
func easter(year int) time.Time {
	a, b, c := year%19, year/100, year%100
	h := (19*a + b - b/4 - (b-(b+8)/25+1)/3 + 15) % 30
	l := (32 + 2*(b%4) + 2*(c/4) - h - c%4) % 7
	n := h + l - 7*((a+11*h+22*l)/451) + 114
	return time.Date(year, time.Month(n/31), n%31+1, 0, 0, 0, 0, time.UTC)
}

// missedTables returns the number of tables that were published after the table of the given time, up to now. It is at
// most maxMissedTables + 1.
func missedTables(table, now time.Time) (missed int) {
	for day := table.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1); missed <= maxMissedTables; day = day.AddDate(0, 0, 1) {
		if day.Add(publicationTime).After(now) {
			return missed
		}
		if isBankingDay(day) {
			missed++
		}
	}
	return missed
}
