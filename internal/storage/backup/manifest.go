package backup

import "time"

// A backup consists of lines of JSON, the same for both engines: a header; for each table a line
// with its name and columns, followed by a line per row; and a trailer with the number of rows of each
// table and the SHA-256 of all lines before it.

// formatVersion is the version of this format.
const formatVersion = 1

// Manifest describes a backup.
type Manifest struct {
	Engine    string           `json:"engine"` // of the source, sqlite or postgres; the backup can be restored to both
	Schema    int64            `json:"schema"` // version
	CreatedAt time.Time        `json:"created_at"`
	Rows      map[string]int64 `json:"rows"` // by table
}

// Total returns the number of rows.
func (m Manifest) Total() (total int64) {
	for _, n := range m.Rows {
		total += n
	}
	return total
}

type (
	header struct {
		Format    int       `json:"chequer_backup"`
		Schema    int64     `json:"schema"`
		Engine    string    `json:"engine"`
		CreatedAt time.Time `json:"created_at"`
		MasterKey string    `json:"master_key"` // hexadecimal, as in the settings
	}
	tableHeader struct {
		Table   string   `json:"table"`
		Columns []string `json:"columns"`
	}
	trailer struct {
		Rows   map[string]int64 `json:"rows"`
		SHA256 string           `json:"sha256"`
	}
)

// manifest returns the manifest of a header and a trailer.
func (h header) manifest(end trailer) Manifest {
	return Manifest{Engine: h.Engine, Schema: h.Schema, CreatedAt: h.CreatedAt, Rows: end.Rows}
}
