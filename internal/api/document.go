package api

import "embed"

// Document describes the whole service for programs, as OpenAPI 3.1. Tests check every answer of
// the server against it.
//
//go:embed openapi.yaml
var Document []byte

// Examples are programs that use the service, in one folder per task. The page of the document
// shows them, and tests run them.
//
//go:embed examples
var Examples embed.FS
