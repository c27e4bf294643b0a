package lnd

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// operation is a permission in a macaroon of lnd, such as invoices and write.
type operation struct{ entity, action string }

// String returns the operation as lncli writes it.
func (o operation) String() string { return o.entity + ":" + o.action }

// safe are the operations that cannot move money, those of the entity uri excepted.
var safe = []operation{
	{"invoices", "read"}, {"invoices", "write"}, {"address", "read"}, {"address", "write"}, {"info", "read"}, {"info", "write"},
	{"message", "read"}, {"message", "write"}, {"peers", "read"}, {"peers", "write"}, {"onchain", "read"}, {"offchain", "read"},
}

// safeCalls are the calls that cannot move money. A macaroon can name calls with the entity uri.
var safeCalls = []string{
	"/lnrpc.Lightning/AddInvoice", "/lnrpc.Lightning/LookupInvoice", "/lnrpc.Lightning/ListInvoices", "/lnrpc.Lightning/SubscribeInvoices",
	"/lnrpc.Lightning/DecodePayReq", "/lnrpc.Lightning/GetInfo", "/invoicesrpc.Invoices/CancelInvoice",
	"/invoicesrpc.Invoices/LookupInvoiceV2", "/invoicesrpc.Invoices/SubscribeSingleInvoice",
}

// spending returns the first operation that may move money, or "". Unknown operations may.
func spending(operations []operation) string {
	for _, o := range operations {
		isSafe := slices.Contains(safe, o)
		if o.entity == "uri" {
			isSafe = slices.Contains(safeCalls, o.action)
		}
		if !isSafe {
			return o.String()
		}
	}
	return ""
}

// missing returns the first operation that the provider needs and a macaroon does not have, or "".
func missing(operations []operation) string {
	for _, need := range []struct {
		o     operation
		calls []string
	}{
		{operation{"invoices", "read"}, []string{"/lnrpc.Lightning/LookupInvoice"}},
		{operation{"invoices", "write"}, []string{"/lnrpc.Lightning/AddInvoice", "/invoicesrpc.Invoices/CancelInvoice"}},
	} {
		if slices.Contains(operations, need.o) {
			continue
		}
		for _, call := range need.calls {
			if !slices.Contains(operations, operation{"uri", call}) {
				return need.o.String()
			}
		}
	}
	return ""
}

// The fields of a macaroon, and the first byte of the form that lnd writes.
const (
	macaroonVersion   = 2
	fieldEnd          = 0
	fieldLocation     = 1
	fieldIdentifier   = 2
	identifierVersion = 3
)

var errMacaroon = errors.New("the macaroon is not of lnd: its operations cannot be read")

// readOperations returns the operations in the identifier of a macaroon. Caveats can only restrict them.
func readOperations(macaroon []byte) ([]operation, error) {
	if len(macaroon) == 0 || macaroon[0] != macaroonVersion {
		return nil, errMacaroon
	}
	rest := macaroon[1:]
	for {
		kind, n := binary.Uvarint(rest)
		if n <= 0 || kind == fieldEnd {
			return nil, errMacaroon
		}
		value, after, err := readBytes(rest[n:])
		switch {
		case err != nil || kind != fieldLocation && kind != fieldIdentifier:
			return nil, errMacaroon
		case kind == fieldIdentifier && (len(value) == 0 || value[0] != identifierVersion):
			return nil, errMacaroon
		case kind == fieldIdentifier:
			return readIdentifier(value[1:])
		}
		rest = after
	}
}

// readIdentifier reads the operations in an identifier, a message of Protocol Buffers.
func readIdentifier(message []byte) ([]operation, error) {
	var list []operation
	err := readMessage(message, func(field uint64, value []byte) error {
		if field != 3 {
			return nil
		}
		entity, actions := "", []string{}
		err := readMessage(value, func(field uint64, value []byte) error {
			switch field {
			case 1:
				entity = string(value)
			case 2:
				actions = append(actions, string(value))
			}
			return nil
		})
		for _, action := range actions {
			list = append(list, operation{entity, action})
		}
		return err
	})
	if err == nil && len(list) == 0 {
		err = errMacaroon
	}
	return list, err
}

// readMessage calls read for each field of a message whose fields are all texts, bytes or messages.
func readMessage(message []byte, read func(field uint64, value []byte) error) error {
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 || tag&7 != 2 {
			return errMacaroon
		}
		value, rest, err := readBytes(message[n:])
		if err != nil {
			return err
		}
		if err := read(tag>>3, value); err != nil {
			return fmt.Errorf("field %d: %w", tag>>3, err)
		}
		message = rest
	}
	return nil
}

// readBytes returns bytes with their length before them, and the bytes after them.
func readBytes(data []byte) (value, rest []byte, err error) {
	length, n := binary.Uvarint(data)
	if n <= 0 || length > uint64(len(data)-n) {
		return nil, nil, errMacaroon
	}
	return data[n : n+int(length)], data[n+int(length):], nil
}
