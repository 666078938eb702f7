/*
Copyright 2026 The AlterShield Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/
// Package browser tests the page of kubectl altershield dashboard in a real browser.
package browser

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// patience is how long the page may take for what a test waits for. The machine may be busy.
const patience = 20 * time.Second

// chromium returns the path of the browser. Where it isn't there the test is skipped, but never in CI.
func chromium(t testing.TB) string {
	t.Helper()
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	const missing = "there is no browser: install Debian's package chromium, or name a browser by the variable CHROMIUM"
	if os.Getenv("CI") != "" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// tab is a tab of a browser that shows the page.
type tab struct {
	t    testing.TB
	ctx  context.Context
	fake *fake
	// scheme is light or dark.
	scheme string

	mutex sync.Mutex
	// complaints are exceptions, reports of the content security policy and dialogs; requests are the addresses that were asked for.
	complaints, requests []string
	// pending are the requests without an answer, but for the stream, which has no end.
	pending map[network.RequestID]bool
}

// browserOf returns the context of the one browser of the tests: a browser takes a second to start.
var browserOf = sync.OnceValues(func() (context.Context, error) {
	path := os.Getenv("PAGE_BROWSER_PATH")
	allocator, _ := chromedp.NewExecAllocator(context.Background(), chromedp.Headless, chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.NoFirstRun,
		chromedp.DisableGPU, chromedp.Flag("lang", "en-GB"), chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("font-render-hinting", "none"),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true))
	ctx, _ := chromedp.NewContext(allocator)
	return ctx, chromedp.Do(ctx)
})

// look is how a tab shows the page.
type look struct {
	width, height int64
	dark          bool
	// route is the address below the key, such as /w/shop/Deployment/web.
	route string
	// zone is the time zone, Europe/Berlin if it is empty.
	zone string
}

// open opens the page of a fake in a new tab, with its key.
func open(t testing.TB, of *fake, with look) *tab {
	t.Helper()
	return openAt(t, of, with, of.url+"/#"+key+with.route)
}

func openAt(t testing.TB, of *fake, with look, address string) *tab {
	t.Helper()
	t.Setenv("PAGE_BROWSER_PATH", chromium(t))
	parent, err := browserOf()
	if err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	ctx, cancel := chromedp.NewContext(parent, chromedp.WithNewBrowserContext())
	shown := &tab{t: t, ctx: ctx, fake: of, pending: map[network.RequestID]bool{}}
	t.Cleanup(func() {
		cancel()
		for _, complaint := range shown.said() {
			t.Errorf("the browser complained: %s", complaint)
		}
	})
	if err := chromedp.Listen(ctx, shown.hear); err != nil {
		t.Fatalf("listen to the browser: %v", err)
	}
	if with.width == 0 {
		with.width, with.height = 1280, 900
	}
	shown.scheme = map[bool]string{false: "light", true: "dark"}[with.dark]
	call(shown, log.Enable, cdp.Empty{})
	call(shown, network.Enable, network.EnableParams{})
	call(shown, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: cmp.Or(with.zone, "Europe/Berlin")})
	shown.media("")
	shown.do(chromedp.EmulateViewport(with.width, with.height))
	// A policy that is violated is told to the console, and here as well, so that a test sees it whatever the console's level.
	call(shown, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
		new MutationObserver((_, watch) => { if (document.querySelector("tbody tr")) { window.firstRow = performance.now(); watch.disconnect(); } }).observe(document, { childList: true, subtree: true });
		window.violations = []; document.addEventListener("securitypolicyviolation", (event) => violations.push(event.violatedDirective + " " + event.blockedURI + " " + event.sample));`})
	shown.do(chromedp.Navigate(address))
	return shown
}

// hear keeps what the browser complains about.
func (s *tab) hear(event any) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch event := event.(type) {
	case *runtime.EventExceptionThrown:
		s.complaints = append(s.complaints, "exception: "+fmt.Sprint(event.ExceptionDetails.Text, event.ExceptionDetails.Exception))
	case *log.EventEntryAdded:
		if event.Entry.Source == log.EntrySourceSecurity || event.Entry.Source == log.EntrySourceJavascript || event.Entry.Source == log.EntrySourceViolation {
			s.complaints = append(s.complaints, fmt.Sprintf("%s: %s", event.Entry.Source, event.Entry.Text))
		}
	case *page.EventJavascriptDialogOpening:
		s.complaints = append(s.complaints, "dialog: "+event.Message)
	case *network.EventRequestWillBeSent:
		s.requests = append(s.requests, event.Request.URL)
		if !strings.Contains(event.Request.URL, "/api/stream") {
			s.pending[event.RequestID] = true
		}
	case *network.EventLoadingFinished:
		delete(s.pending, event.RequestID)
	case *network.EventLoadingFailed:
		delete(s.pending, event.RequestID)
	}
}

func (s *tab) said() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Clone(s.complaints)
}

func (s *tab) asked() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Clone(s.requests)
}

// call calls a command of the browser's protocol.
func call[P, R any](s *tab, command cdp.Command[P, R], params P) R {
	s.t.Helper()
	answer, err := chromedp.Call(s.ctx, command, params)
	if err != nil {
		s.t.Fatalf("tell the browser: %v", err)
	}
	return answer
}

func (s *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		s.t.Fatalf("drive the browser: %v; the page shows:\n%s", err, s.text("body"))
	}
}

// eval returns what an expression gives in the page.
func eval[T any](s *tab, expression string) T {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		s.t.Fatalf("evaluate %s: %v", expression, err)
	}
	return value
}

// text returns the text of an element as it is shown, empty if there is none.
func (s *tab) text(selector string) string {
	s.t.Helper()
	return eval[string](s, fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector))
}

// until waits for a condition of the page.
func (s *tab) until(condition string) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if eval[bool](s, "!!("+condition+")") {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the page doesn't come to: %s\nit shows:\n%s", condition, s.text("body"))
		}
	}
}

// heap returns what the objects of the page take, in bytes, without those that nothing uses any more.
func (s *tab) heap() float64 {
	s.t.Helper()
	call(s, heapprofiler.CollectGarbage, cdp.Empty{})
	return call(s, runtime.GetHeapUsage, cdp.Empty{}).UsedSize
}

// shows waits for a text in an element.
func (s *tab) shows(selector string, texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		s.until(fmt.Sprintf("(document.querySelector(%q)?.innerText ?? '').includes(%q)", selector, text))
	}
}

// press presses keys, one after another.
func (s *tab) press(keys string) {
	s.t.Helper()
	s.do(chromedp.KeyEvent(keys))
}

// click clicks the first element with a text.
func (s *tab) click(selector, text string) {
	s.t.Helper()
	find := fmt.Sprintf("[...document.querySelectorAll(%q)].find((one) => one.innerText.includes(%q))", selector, text)
	s.until("((one) => one && one.click() === undefined)(" + find + ")") // at once, as the page may show it anew in between
}

// violations returns the reports of the content security policy.
func (s *tab) violations() []string {
	s.t.Helper()
	return eval[[]string](s, "window.violations")
}

// isOffOrigin reports whether a request leaves the plugin.
func (s *tab) isOffOrigin(address string) bool {
	return !strings.HasPrefix(address, s.fake.url+"/") && !strings.HasPrefix(address, "blob:"+s.fake.url)
}

// settled waits until the page shows all that it asked for.
func (s *tab) settled() {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		s.drawn()
		s.until(`document.querySelector("main h1, main h2") && !/Loading…|加载中…|Examining|正在检查/.test(document.querySelector("main").innerText)`)
		s.mutex.Lock()
		pending := len(s.pending)
		s.mutex.Unlock()
		if pending == 0 {
			break
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%d requests have no answer", pending)
		}
	}
	s.drawn()
}

// drawn waits until the page has drawn what it has.
func (s *tab) drawn() {
	s.t.Helper()
	eval[bool](s, "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
}

// goTo goes to another view.
func (s *tab) goTo(route string) {
	s.t.Helper()
	address := "#/" + strings.TrimPrefix(route, "/")
	eval[bool](s, fmt.Sprintf(`new Promise((done) => { if (location.hash === %q) { done(true); return; } addEventListener("hashchange", () => done(true), { once: true }); location.hash = %q; })`, address, address))
	s.settled()
}

const (
	arrowRight = kb.ArrowRight
	tabKey     = kb.Tab
	enter      = kb.Enter
	escape     = kb.Escape
)

// typed types a text into a field.
func typed(selector, text string) chromedp.Action[chromedp.Void] {
	return chromedp.SendKeys(chromedp.CSS(selector), text)
}

// media shows the page as on a medium, such as print.
func (s *tab) media(medium string) {
	s.t.Helper()
	call(s, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: medium, Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: s.scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}
