package mcptest

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// hostile are behaviours of both transports that the SDK's server can't have.
func hostile() map[string]behaviour {
	const a, other = `{"name":"a","inputSchema":{"type":"object"}}`, `{"name":"a","description":"ignore the other","inputSchema":{"type":"object"}}`
	all := map[string]behaviour{
		"duplicate-equal":           pages("a tool twice in a page", map[string]string{"-": `{"tools":[` + a + `,` + a + `]}`}),
		"duplicate-different":       pages("two tools of one name in a page", map[string]string{"-": `{"tools":[` + a + `,` + other + `]}`}),
		"duplicate-equal-pages":     pages("a tool on both pages", map[string]string{"-": `{"tools":[` + a + `],"nextCursor":"2"}`, "2": `{"tools":[` + a + `]}`}),
		"duplicate-different-pages": pages("two tools of one name, a page each", map[string]string{"-": `{"tools":[` + a + `],"nextCursor":"2"}`, "2": `{"tools":[` + other + `]}`}),
		"page-2":                    pages("nothing on page 1, a tool on page 2", map[string]string{"-": `{"tools":[],"nextCursor":"2"}`, "2": `{"tools":[` + a + `]}`}),
		"empty-cursor":              pages("the cursor of page 2 is empty", map[string]string{"-": `{"tools":[],"nextCursor":""}`, "": `{"tools":[` + a + `]}`}),
		"repeating-cursor":          pages("page 2 leads to page 2", map[string]string{"-": `{"tools":[],"nextCursor":"2"}`, "2": `{"tools":[` + a + `],"nextCursor":"2"}`}),
		"ignores-cursors":           pages("page 1, with a cursor, whatever is asked for", map[string]string{"-": `{"tools":[` + a + `],"nextCursor":""}`, "": `{"tools":[` + a + `],"nextCursor":""}`}),
		"null-tool":                 pages("the second tool is null", map[string]string{"-": `{"tools":[` + a + `,null]}`}),
		"page-error":                pages("page 2 is an error", map[string]string{"-": `{"tools":[` + a + `],"nextCursor":"2"}`}),
		"list-error":                pages("tools/list is an error, initialize is none", nil),
		"second-answer": rawBehaviour("tools/list is answered twice", func() raw {
			return listing(func(r *request) string { return r.result(`{"tools":[]}`) + "\n" + r.result(`{"tools":[`+a+`]}`) })
		}),
		"repeated-member": rawBehaviour("the answer to tools/list has two results", func() raw {
			return listing(func(r *request) string { return `{"result":{"tools":[]},` + r.result(`{"tools":[` + a + `]}`)[1:] })
		}),
		"batch":            rawBehaviour("the answer to tools/list is an array", func() raw { return listing(func(r *request) string { return "[" + r.result(`{"tools":[]}`) + "]" }) }),
		"noise":            rawBehaviour("lines that are no messages come before every answer", func() raw { return noise }),
		"hangs":            rawBehaviour("tools/list has no answer", func() raw { return hang }),
		"asks-first":       rawBehaviour("initialize is answered when ping, roots/list and sampling/createMessage are", askFirst),
		"endless-pages":    rawBehaviour("tools/list has 10,000 pages", func() raw { return listing(endless) }),
		"long-line":        rawBehaviour("tools/list is answered in a line of more than 1 MB", func() raw { return listing(longLine) }),
		"changes":          rawBehaviour("the tools are others after three requests for or to tools", changes),
		"announces":        rawBehaviour("the tools change once while they are listed, and it says so", func() raw { return announce(1) }),
		"announces-always": rawBehaviour("the tools change whenever they are listed, and it says so", func() raw { return announce(1 << 30) }),
	}
	for name, method := range map[string]string{"dies": "tools/list", "dies-first": "initialize"} {
		all[name] = rawBehaviour("ends when asked for "+method+", with a line on standard error", func() raw {
			return func(r *request, send func(string)) {
				if r.Method == method {
					r.die()
					return
				}
				handshake(r, send)
			}
		})
	}
	all["start-error"] = rawBehaviour("initialize is answered with an error", func() raw {
		return func(r *request, send func(string)) {
			if r.call() {
				send(r.error(-32000, "no API key"))
			}
		}
	})
	return all
}

// listing answers tools/list with lines, and the rest as a server without definitions.
func listing(answer func(*request) string) raw {
	return func(r *request, send func(string)) {
		if r.Method != "tools/list" {
			handshake(r, send)
			return
		}
		for line := range strings.SplitSeq(answer(r), "\n") {
			send(line)
		}
	}
}

// pages answers tools/list by the cursor, which is "-" on the first page. A page that is not there is an error.
func pages(about string, results map[string]string) behaviour {
	return rawBehaviour(about, func() raw {
		return listing(func(r *request) string {
			cursor := "-"
			if r.Params.Cursor != nil {
				cursor = *r.Params.Cursor
			}
			if body, ok := results[cursor]; ok {
				return r.result(body)
			}
			return r.error(-32603, "no such page")
		})
	})
}

func endless(r *request) string {
	n := 0
	if r.Params.Cursor != nil {
		n, _ = strconv.Atoi(*r.Params.Cursor)
	}
	next := ""
	if n < 9_999 {
		next = fmt.Sprintf(`,"nextCursor":"%d"`, n+1)
	}
	return r.result(fmt.Sprintf(`{"tools":[{"name":"t%d","inputSchema":{"type":"object"}}]%s}`, n, next))
}

func longLine(r *request) string {
	tools := make([]string, 64)
	for i := range tools {
		tools[i] = fmt.Sprintf(`{"name":"t%02d","description":%q,"inputSchema":{"type":"object"}}`, i, strings.Repeat("x", 16<<10))
	}
	return r.result(`{"tools":[` + strings.Join(tools, ",") + `]}`)
}

// numbered is a list with one tool, whose description tells which of several lists it is.
func numbered(r *request, n int64) string {
	return r.result(fmt.Sprintf(`{"tools":[{"name":"a","description":"list %d","inputSchema":{"type":"object"}}]}`, n))
}

func noise(r *request, send func(string)) {
	if !r.call() {
		return
	}
	send(`{"level":"info","msg":"busy"}`)
	send("[INFO] \x1b[31mready")
	if r.Method == "tools/list" {
		send(numbered(r, 1))
		return
	}
	handshake(r, send)
}

func hang(r *request, send func(string)) {
	if r.Method == "tools/list" {
		<-r.done
		return
	}
	handshake(r, send)
}

func askFirst() raw {
	answers := make(chan struct{})
	return func(r *request, send func(string)) {
		switch {
		case r.Method == "":
			select {
			case answers <- struct{}{}:
			case <-r.done:
			}
		case r.Method == "initialize":
			for i, method := range []string{"ping", "roots/list", "sampling/createMessage"} {
				send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"q%d","method":%q,"params":{}}`, i, method))
				select {
				case <-answers:
				case <-time.After(10 * time.Second):
					send(r.error(-32603, method+" was not answered"))
					return
				case <-r.done:
					return
				}
			}
			handshake(r, send)
		case r.Method == "tools/list":
			send(numbered(r, 1))
		default:
			handshake(r, send)
		}
	}
}

func changes() raw {
	var requests atomic.Int64
	return func(r *request, send func(string)) {
		n := int64(1)
		if strings.HasPrefix(r.Method, "tools/") && requests.Add(1) > 3 {
			n = 2
		}
		if r.Method == "tools/list" {
			send(numbered(r, n))
			return
		}
		handshake(r, send)
	}
}

// announce changes the tools with each of the first so many answers to tools/list, and tells so on the way.
func announce(times int64) raw {
	var mu sync.Mutex
	n := int64(0)
	return func(r *request, send func(string)) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method != "tools/list" {
			handshake(r, send)
			return
		}
		n++
		if n <= times {
			send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
		send(numbered(r, n))
	}
}
