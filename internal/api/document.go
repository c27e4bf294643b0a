package api

import "embed"

// Document is the OpenAPI 3.1 document of the service. Tests check every response of the server
// against it.
//
//go:embed openapi.yaml
var Document []byte

// Examples are example programs, in one directory per task. The API reference shows them, and
// tests run them.
//
//go:embed examples
var Examples embed.FS
