package mcptest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
)

// odd are behaviours of both transports that real servers have.
func odd() map[string]behaviour {
	const a = `{"name":"a","inputSchema":{"type":"object"}}`
	return map[string]behaviour{
		"swaps-pages": rawBehaviour("tools/list has two pages, which are others after the first was read", swapPages),
		"undeclared-error": rawBehaviour("a list that is not declared is answered with the error -32603", func() raw {
			return undeclared(rest(func(r *request, send func(string)) { send(r.error(-32603, "unknown method")) }))
		}),
		"undeclared-silence": rawBehaviour("a list that is not declared has no answer", func() raw {
			return undeclared(rest(func(r *request, _ func(string)) { <-r.done }))
		}),
		"undeclared-exit": rawBehaviour("ends when asked for a list that is not declared", func() raw {
			return undeclared(rest(func(r *request, _ func(string)) { r.die() }))
		}),
		"string-ids": rawBehaviour("every answer has the id as a string", func() raw {
			return func(r *request, send func(string)) {
				if r.ID != nil {
					r.ID = json.RawMessage(strconv.Quote(string(r.ID)))
				}
				undeclared(handshake)(r, send)
			}
		}),
		"error-null": rawBehaviour("the answer to tools/list has an error too, which is null", func() raw {
			return listing(func(r *request) string { return `{"error":null,` + r.result(`{"tools":[` + a + `]}`)[1:] })
		}),
		"instructions-null": rawBehaviour("the instructions are null", func() raw {
			return undeclared(func(r *request, send func(string)) {
				if r.Method == "initialize" {
					send(r.result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"instructions":null}`))
					return
				}
				handshake(r, send)
			})
		}),
	}
}

// undeclared has one tool and leaves initialize and the other lists to odd.
func undeclared(odd raw) raw {
	return func(r *request, send func(string)) {
		switch {
		case r.Method == "tools/list":
			send(numbered(r, 1))
		case strings.HasSuffix(r.Method, "/list") || r.Method == "initialize":
			odd(r, send)
		default:
			handshake(r, send)
		}
	}
}

// rest has odd answer all requests but initialize.
func rest(odd raw) raw {
	return func(r *request, send func(string)) {
		if r.Method == "initialize" {
			handshake(r, send)
			return
		}
		odd(r, send)
	}
}

func swapPages() raw {
	var version atomic.Int64
	return listing(func(r *request) string {
		v := max(1, version.Load())
		if r.Params.Cursor != nil {
			return r.result(fmt.Sprintf(`{"tools":[{"name":"b","version":%d}]}`, v))
		}
		version.Store(2)
		return r.result(fmt.Sprintf(`{"tools":[{"name":"a","version":%d}],"nextCursor":"2"}`, v))
	})
}
