package mcp

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsign/mcpsign/internal/mcptest"
)

// TestMain turns the test binary into a server if the environment names one of fakes, or mcptest.
func TestMain(m *testing.M) {
	if os.Getenv("MCPTEST") != "" {
		os.Exit(mcptest.Main(os.Args[1:]))
	}
	name := os.Getenv("FAKE_SERVER")
	if name == "" {
		os.Exit(m.Run())
	}
	run, ok := fakes[name]
	if !ok {
		log.Fatalf("no fake server %q", name)
	}
	run()
}

// fake returns the command that starts a server of fakes.
func fake(name string, env ...string) Command {
	// Under the race detector every child would sleep a second when it ends.
	env = append(env, "FAKE_SERVER="+name, "GORACE=atexit_sleep_ms=0")
	return Command{Argv: []string{os.Args[0]}, Env: append(os.Environ(), env...)}
}

type request struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Cursor *string
		Meta   json.RawMessage `json:"_meta"`
	}
}

const (
	initialized = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}`
	discovered  = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":"i"}`
	hello       = `{"jsonrpc":"2.0","id":1,"result":` + initialized + `}`
)

func (r request) result(body string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, body)
}

func (r request) error(code int, message string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, r.ID, code, message)
}

// serve answers requests until standard input ends. An empty answer stands for what a server without definitions says.
func serve(answer func(request) string) {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var r request
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			log.Fatal(err)
		}
		if r.ID == nil {
			continue
		}
		line := answer(r)
		if line == "" && r.Method == "initialize" {
			line = r.result(initialized)
		}
		fmt.Println(cmp.Or(line, r.error(-32601, "method not found")))
	}
}

// answer serves a server that does one thing out of the ordinary: line is what it sends for a method, with ID for the
// id of the request.
func answer(method, line string) func() {
	return func() {
		serve(func(r request) string {
			if r.Method != method {
				return ""
			}
			return strings.ReplaceAll(line, "ID", string(r.ID))
		})
	}
}

// toolsOnly declares tools and has one, and answers requests for all else with what odd returns.
func toolsOnly(odd func(request) string) func(request) string {
	return func(r request) string {
		switch r.Method {
		case "initialize":
			return ""
		case "tools/list":
			return r.result(`{"tools":[{"name":"a"}]}`)
		}
		return odd(r)
	}
}

// stringID has every answer name its request by a string.
func stringID(answer func(request) string) func(request) string {
	return func(r request) string {
		r.ID = json.RawMessage(strconv.Quote(string(r.ID)))
		if line := answer(r); line != "" {
			return line
		}
		if r.Method == "initialize" {
			return r.result(initialized)
		}
		return r.error(-32601, "method not found")
	}
}

// swaps serves tools/list in two pages and has other tools after the first page, with a notice or without.
func swaps(notice string) func() {
	return func() {
		version := 1
		serve(func(r request) string {
			switch {
			case r.Method != "tools/list":
				return ""
			case r.Params.Cursor != nil:
				line := r.result(fmt.Sprintf(`{"tools":[{"name":"b","version":%d}]}`, version))
				if notice != "" && version == 2 {
					line, notice = notice+"\n"+line, ""
				}
				return line
			}
			line := r.result(fmt.Sprintf(`{"tools":[{"name":"a","version":%d}],"nextCursor":"2"}`, version))
			version = 2
			return line
		})
	}
}

// pages serves tools/list in pages; next returns the result for a cursor, which is "-" on the first page.
func pages(next func(cursor string) string) func() {
	return func() {
		serve(func(r request) string {
			if r.Method != "tools/list" {
				return ""
			}
			cursor := "-"
			if r.Params.Cursor != nil {
				cursor = *r.Params.Cursor
			}
			if body := next(cursor); body != "" {
				return r.result(body)
			}
			return r.error(-32603, "no such page")
		})
	}
}

var threePages = map[string]string{
	"-":  `{"tools":[{"name":"a"}],"nextCursor":""}`,
	"":   `{"tools":[{"name":"b"}],"nextCursor":"<3"}`,
	"<3": `{"tools":[{"name":"c"}],"nextCursor":null}`,
}

// verbatim is a response that no encoder writes this way.
const verbatim = " \t{\"id\" : 2 ,\"result\":{ \"tools\":[{\"name\":\"\\u0061\\/\",\"description\":\"<b>&\u2028\xff\"," +
	"\"n\":1.0e+2,\"a\":1,\"a\":2 } ],\"\\u006eextCursor\":null},\"extra\":{},\"jsonrpc\":\"2.0\"}  \r"

var fakes = map[string]func(){
	"plain":    func() { serve(func(request) string { return "" }) },
	"pages":    pages(func(c string) string { return threePages[c] }),
	"verbatim": answer("tools/list", verbatim),
	"transcript": func() {
		in := bufio.NewReader(os.Stdin)
		for _, line := range []string{
			hello, "",
			`{"jsonrpc":"2.0","id":2,"result":{"tools":[],"nextCursor":"\u0061<"}}`,
			`{"jsonrpc":"2.0","id":3,"result":{"tools":[]}}`,
			`{"jsonrpc":"2.0","id":4,"result":{"tools":[],"nextCursor":"other"}}`,
			`{"jsonrpc":"2.0","id":5,"result":{"prompts":[]}}`,
			`{"jsonrpc":"2.0","id":6,"result":{"resourceTemplates":[]}}`,
		} {
			request, err := in.ReadString('\n')
			if err != nil {
				log.Fatal(err)
			}
			fmt.Fprint(os.Stderr, request)
			if line != "" {
				fmt.Println(line)
			}
		}
	},

	"repeats": func() {
		n := 0
		pages(func(string) string {
			n++
			return fmt.Sprintf(`{"tools":[{"name":"t%d"}],"nextCursor":"again"}`, n)
		})()
	},
	"ignores cursors": pages(func(string) string { return `{"tools":[{"name":"a","_meta":{"x":1}}],"nextCursor":""}` }),
	"goes round": func() {
		n := 0
		pages(func(c string) string {
			n++ // the page is the same, its spelling is not
			return map[string]string{
				"-": `{"tools":[{"name":"a","x":1},{"name":"b"}],"nextCursor":"2"}`,
				"2": `{"tools":[{"name":"c"}],"nextCursor":"3"}`,
				"3": fmt.Sprintf(`{"tools":[{"name":"b"},{"x":1,"name":"a","_meta":%d}],"nextCursor":"2"}`, n),
			}[c]
		})()
	},
	"swaps":           swaps(""),
	"swaps and tells": swaps(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`),
	"random cursors": func() {
		n := 0
		pages(func(c string) string {
			if n++; c == "-" {
				return fmt.Sprintf(`{"tools":[{"name":"a"}],"nextCursor":"r%d","_meta":{"n":%d}}`, n, n)
			}
			return `{"tools":[{"name":"b"}]}`
		})()
	},
	"repeats once": func() {
		calls := 0
		pages(func(c string) string {
			if calls++; calls == 2 {
				return `{"tools":[{"name":"lost"}],"nextCursor":""}`
			}
			return threePages[c]
		})()
	},
	"endless": func() {
		n := 0
		pages(func(string) string { n++; return fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, n) })()
	},
	"page 2 fails": pages(func(c string) string { return map[string]string{"-": threePages["-"]}[c] }),
	"page 2 unknown": func() {
		serve(func(r request) string {
			if r.Method != "tools/list" || r.Params.Cursor != nil {
				return ""
			}
			return r.result(threePages["-"])
		})
	},
	"page 2 no list":       pages(func(c string) string { return map[string]string{"-": threePages["-"], "": "{}"}[c] }),
	"cursor of a number":   answer("tools/list", `{"jsonrpc":"2.0","id":ID,"result":{"tools":[],"nextCursor":2}}`),
	"first page no list":   answer("prompts/list", `{"jsonrpc":"2.0","id":ID,"result":{"nextCursor":"2"}}`),
	"tools without list":   answer("tools/list", `{"jsonrpc":"2.0","id":ID,"result":{}}`),
	"prompts without list": answer("prompts/list", `{"jsonrpc":"2.0","id":ID,"result":{"prompts":null}}`),
	"templates": func() {
		serve(func(r request) string {
			switch r.Method {
			case "initialize":
				return r.result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{"subscribe":true}}}`)
			case "resources/templates/list":
				return r.result(`{"type":"success","templates":[]}`)
			}
			return ""
		})
	},

	"old version":      answer("initialize", `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2024-11-05","capabilities":{}}}`),
	"unknown version":  answer("initialize", `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2031-01-01","capabilities":{}}}`),
	"no version":       answer("initialize", `{"jsonrpc":"2.0","id":ID,"result":{}}`),
	"no handshake":     answer("initialize", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"bad"}}`),
	"no key":           answer("initialize", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"no API key\u001b[31m"}}`),
	"stateless -32601": stateless(refuse(-32601), discovered, `{"resultType":"complete","tools":[]}`),
	"stateless -32602": stateless(refuse(-32602), discovered, `{"resultType":"complete","tools":[]}`),
	"stateless -32022": stateless(refuse(-32022), discovered, `{"resultType":"complete","tools":[]}`),
	"stateless 2026-07-28": stateless(func(r request) string {
		return r.result(`{"protocolVersion":"2026-07-28"}`)
	}, discovered, `{"resultType":"complete","tools":[]}`),
	"stateless of the future": stateless(refuse(-32022), `{"supportedVersions":["2031-01-01"],"capabilities":{}}`, ""),
	"input required":          stateless(refuse(-32601), discovered, `{"resultType":"input_required"}`),
	"sdk":                     func() { serveSDK(false) },
	"sdk stateless":           func() { serveSDK(true) },

	"noise": func() {
		fmt.Print("starting\n\n{\"level\":\"info\"}\n[INFO] \"ready\" \x1b[31m\n[]\n" + strings.Repeat("x", 1000) + "\n")
		serve(func(request) string { return "" })
	},
	"much noise": func() {
		for range 100 {
			fmt.Println("noise")
		}
		serve(func(request) string { return "" })
	},
	"endless noise": func() {
		for {
			if _, err := fmt.Println("noise"); err != nil {
				os.Exit(1)
			}
		}
	},
	"foreign responses": func() {
		fmt.Println(`{"jsonrpc":"2.0","id":99,"result":{}}`)
		fmt.Println(`{"jsonrpc":"2.0","id":"01","result":{}}`)
		serve(func(r request) string {
			if r.Method != "tools/list" {
				return ""
			}
			return `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}` + "\n" + r.error(-32601, "no")
		})
	},
	"answers notifications": func() {
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			var r request
			_ = json.Unmarshal(in.Bytes(), &r)
			switch r.Method {
			case "initialize":
				fmt.Println(r.result(initialized))
			case "tools/list":
				time.Sleep(100 * time.Millisecond)
				fmt.Println(r.result(`{"tools":[]}`))
			default:
				fmt.Println(`{"jsonrpc":"2.0","error":{"code":-32601,"message":"no"}}`)
			}
		}
	},
	"never an id": func() {
		serve(func(r request) string {
			if r.Method == "tools/list" {
				return `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`
			}
			return ""
		})
	},
	"no id at first":             answer("initialize", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no API key"}}`),
	"result for nobody":          answer("initialize", `{"jsonrpc":"2.0","result":{}}`),
	"string ids":                 func() { serve(stringID(func(request) string { return "" })) },
	"answers twice, as a string": answer("tools/list", `{"jsonrpc":"2.0","id":ID,"result":{"tools":[]}}`+"\n"+`{"jsonrpc":"2.0","id":"ID","result":{"tools":[{}]}}`),
	"undeclared": func() {
		serve(toolsOnly(func(r request) string { return strings.ReplaceAll(os.Getenv("ANSWER"), "ID", string(r.ID)) }))
	},
	"undeclared is silent": func() {
		serve(toolsOnly(func(request) string { return "\n" }))
	},
	"undeclared is late": func() {
		before := ""
		serve(toolsOnly(func(r request) string {
			late := before
			before = r.result(`{"prompts":[{"name":"late"}],"resourceTemplates":[{"uriTemplate":"late:{x}"}]}`)
			return late + "\n"
		}))
	},
	"undeclared ends it": func() {
		serve(toolsOnly(func(request) string { os.Exit(3); return "" }))
	},
	"undeclared page 2 fails": func() {
		serve(toolsOnly(func(r request) string {
			if r.Params.Cursor != nil {
				return r.error(-32603, "no such page")
			}
			return r.result(`{"prompts":[{"name":"p"}],"resourceTemplates":[],"nextCursor":"2"}`)
		}))
	},
	"requests": func() {
		in := bufio.NewReader(os.Stdin)
		first, _ := in.ReadString('\n')
		fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
		for _, r := range []string{
			`{"jsonrpc":"2.0","id":"p<1>","method":"ping"}`,
			`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}`,
			`{"jsonrpc":"2.0","id":12345678901234567890,"method":"roots/list"}`,
		} {
			fmt.Println(r)
			reply, _ := in.ReadString('\n')
			fmt.Fprint(os.Stderr, reply)
		}
		if strings.Contains(first, `"initialize"`) {
			fmt.Println(hello)
		}
		serve(func(request) string { return "" })
	},

	"answers twice":         answer("tools/list", `{"jsonrpc":"2.0","id":ID,"result":{"tools":[]}}`+"\n"+`{"jsonrpc":"2.0","id":ID,"result":{"tools":[{}]}}`),
	"answers twice, later":  answer("prompts/list", `{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`),
	"answers twice, at end": answer("resources/templates/list", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601}}`+"\n"+`{"jsonrpc":"2.0","id":ID,"result":{}}`),
	"id repeats":            answer("tools/list", `{"jsonrpc":"2.0","id":ID,"id":ID,"result":{"tools":[]}}`),
	"result repeats":        answer("tools/list", `{"result":{"tools":[]},"r\u0065sult":{"tools":[]},"jsonrpc":"2.0","id":ID}`),
	"list repeats":          answer("tools/list", `{"jsonrpc":"2.0","id":ID,"result":{"tools":[],"tools":[]}}`),
	"cursor repeats":        answer("tools/list", `{"jsonrpc":"2.0","id":ID,"result":{"tools":[],"nextCursor":"1","nextCursor":null}}`),
	"batch":                 answer("tools/list", `[{"jsonrpc":"2.0","id":ID,"result":{"tools":[]}}]`),
	"not JSON":              answer("tools/list", `{"result":{"tools":[{"name":"a","default":NaN}]},"jsonrpc":"2.0","id":ID}`),
	"byte order mark":       answer("initialize", "\ufeff"+hello),
	"two in a line":         answer("tools/list", `{"jsonrpc":"2.0","id":ID,"result":{"tools":[]}} {}`),
	"too deep":              answer("tools/list", `{"jsonrpc":"2.0","id":ID,"result":{"tools":`+strings.Repeat("[", 1<<20)+`]}}`),
	"result is a list":      answer("tools/list", `{"jsonrpc":"2.0","id":ID,"result":[]}`),
	"result is null":        answer("tools/list", `{"jsonrpc":"2.0","id":ID,"result":null}`),
	"result and error":      answer("tools/list", `{"jsonrpc":"2.0","id":ID,"result":{"tools":[]},"error":{"code":1,"message":""}}`),
	"result and method":     answer("tools/list", `{"jsonrpc":"2.0","id":ID,"result":{"tools":[]},"method":"ping"}`),
	"nothing":               answer("tools/list", `{"jsonrpc":"2.0","id":ID}`),
	"JSON-RPC 1":            answer("tools/list", `{"jsonrpc":"1.0","id":ID,"result":{"tools":[]}}`),
	"odd error":             answer("tools/list", `{"jsonrpc":"2.0","id":ID,"error":"out of order"}`),

	"dies": func() {
		fmt.Println("usage: fake KEY")
		log.SetFlags(0)
		log.Print("first\n\nboom \x1b[31mred\x1b[0m \u202e\r\n")
		os.Exit(3)
	},
	"dies later": func() {
		serve(func(r request) string {
			if r.Method == "tools/list" {
				fmt.Print(`{"jsonrpc":"2.0","id":2,"resu`)
				os.Exit(3)
			}
			return ""
		})
	},
	"hangs": func() {
		signal.Ignore(syscall.SIGTERM)
		select {}
	},
	"stays": func() {
		signal.Ignore(syscall.SIGTERM)
		serve(func(request) string { return "" })
		select {}
	},
	"line": func() {
		// A response of exactly as many bytes as asked for.
		size := 0
		fmt.Sscan(os.Getenv("SIZE"), &size)
		serve(func(r request) string {
			if r.Method != "tools/list" {
				return ""
			}
			bare := len(r.result(`{"tools":[""]}`))
			return r.result(`{"tools":["` + strings.Repeat("x", size-bare) + `"]}`)
		})
	},
	"stderr": func() {
		fmt.Fprint(os.Stderr, strings.Repeat("x", 100_000)+"end\n")
		serve(func(request) string { return "" })
	},
	"environment": func() {
		fmt.Fprint(os.Stderr, strings.Join(os.Environ(), "\n"))
		serve(func(request) string { return "" })
	},
}

func refuse(code int) func(request) string {
	return func(r request) string { return r.error(code, "refused") }
}

// stateless serves revision 2026-07-28 only: a request without the metadata of that revision gets what refuse says.
func stateless(refuse func(request) string, discover, tools string) func() {
	const meta = `{"io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"mcpsign","version":"1"},` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	return func() {
		serve(func(r request) string {
			switch {
			case string(r.Params.Meta) != meta:
				return refuse(r)
			case r.Method == "server/discover":
				return r.result(discover)
			case r.Method == "tools/list":
				return r.result(tools)
			}
			return ""
		})
	}
}

// serveSDK serves with the SDK's server, a definition a page, if asked to without a handshake.
func serveSDK(stateless bool) {
	s := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, &mcp.ServerOptions{Instructions: "be kind", PageSize: 1})
	for _, name := range []string{"a", "b", "c"} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
	}
	s.AddPrompt(&mcp.Prompt{Name: "p"}, nil)
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "r", URITemplate: "file:///{x}"}, nil)
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if stateless && method == "initialize" {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"}
			}
			return next(ctx, method, r)
		}
	})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
